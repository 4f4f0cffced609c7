"""Raises the process's limit of open files: each connection takes one, and at the limit no module can be imported."""

from __future__ import annotations

import resource

from behavesim.base.errors import UsageError

BESIDE = 64
"""Open files allowed for a run's journal, log and sandbox, besides its connections: they take about twenty."""


def allow(connections: int) -> None:
    """Raise this process's limit of open files to `connections` + `BESIDE`, unless it is that high already.

    Raises UsageError if the system's hard limit is lower.
    """
    needed = connections + BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageError(
            f"{connections} connections take {needed} open files with what else a run needs, and the limit is {hard}; "
            f"raise it (ulimit -n {needed}), or set fewer --connections"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
