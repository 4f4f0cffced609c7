"""Open files: each connection takes one, and a process that runs out of them cannot even import what it needs."""

from __future__ import annotations

import resource

from behavesim.base.errors import UsageError

BESIDE = 64
"""Open files of a run beside its connections: its journal, its log, the sandbox; some twenty were counted."""


def allow(connections: int) -> None:
    """Raise the limit of open files to `connections` + `BESIDE`; raises UsageError if the hard limit is lower."""
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
