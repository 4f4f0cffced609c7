"""The errors that behavesim raises; each has the exit code with which it ends a command."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

INTERRUPTED = 130
"""The exit code of a command that a person or the system interrupted (Ctrl-C or SIGTERM)."""


class BehavesimError(Exception):
    """Any error of behavesim itself; its message says what was expected, what came and what to do next."""

    exit_code = 1


class UsageError(BehavesimError):
    """A command, a setting or a file is wrong, and the user can correct it and try again."""

    exit_code = 2


class TaskError(UsageError):
    """A task cannot be found, loaded or used."""


class TrajectoryError(BehavesimError, ValueError):
    """A trajectory cannot be built, or two cannot be compared."""

    exit_code = 2


class DistanceError(TrajectoryError):
    """Two states are further apart than the normaliser, or a user's distance function returns no valid distance."""


class PartError(BehavesimError):
    """A user's own method or proposer raised an unexpected error; the run stops and can be resumed."""


class ProposerError(BehavesimError):
    """The endpoint or model failed in a way that a retry does not solve; the run stops and can be resumed."""


class SandboxError(BehavesimError):
    """The sandbox itself failed; this is not caused by a candidate's program."""


class JournalError(BehavesimError):
    """The journal cannot be opened, written or read."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …?" with the known name that is most similar; empty if none is similar."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f"did you mean {near[0]!r}?" if near else ""
