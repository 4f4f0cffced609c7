"""What can go wrong, as a person would name it; each error knows the exit code it ends a command with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

INTERRUPTED = 130
"""The exit code where a person or the system ended a command."""


class BehavesimError(Exception):
    """Anything behavesim itself reports; its message says what was expected, what came and what to do next."""

    exit_code = 1


class UsageError(BehavesimError):
    """A command, a setting or a file that the user can mend before trying again."""

    exit_code = 2


class TaskError(UsageError):
    """A task that cannot be found, loaded or used."""


class TrajectoryError(BehavesimError, ValueError):
    """Trajectories that cannot be built, or cannot be compared with one another."""

    exit_code = 2


class DistanceError(TrajectoryError):
    """Two states are further apart than the normaliser, or a distance of one's own is none."""


class PartError(BehavesimError):
    """A method or a proposer of somebody's own raised what it should not have; the run stops and can be resumed."""


class ProposerError(BehavesimError):
    """The model's side failed in a way that asking again will not mend: the run stops and can be resumed."""


class SandboxError(BehavesimError):
    """The sandbox itself failed, which is never a candidate's fault."""


class JournalError(BehavesimError):
    """The journal cannot be opened, written or read."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The question whether the known name nearest to an unknown one was meant; empty where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f"did you mean {near[0]!r}?" if near else ""
