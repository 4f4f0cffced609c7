"""The errors that behavesim raises, the exit codes with which they end a command, and the findings of its checks."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from behavesim.base.text import one_line

# Numbers of the errors with which the system opens no further file.
NO_FILES = (errno.EMFILE, errno.ENFILE)

# The exit code of a command that a person or the system interrupted (Ctrl-C or SIGTERM).
INTERRUPTED = 130


class BehavesimError(Exception):
    """Any error of behavesim itself; its message says what was expected, what came and what to do next."""

    # the exit code of a command that this error ends: 1 if the run failed, 2 if the user can correct the command
    exit_code = 1


class UsageError(BehavesimError):
    """A command, a setting or a file is wrong, and the user can correct it and try again."""

    exit_code = 2


class UnknownCandidate(UsageError, KeyError):
    """A run has no candidate of this number, which Python's own code may also catch as a KeyError."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show its message as a literal, in quotes


class TaskError(UsageError):
    """A task cannot be found, loaded or used."""


class TrajectoryError(BehavesimError, ValueError):
    """A trajectory cannot be built, two cannot be compared, or a setting of the measure is out of range."""

    exit_code = 2


class DistanceError(TrajectoryError):
    """Two states are further apart than the normaliser, or a user's distance function returns no valid distance."""


class PartError(BehavesimError):
    """A user's method, proposer or task raised an unexpected error. Once corrected, the run goes on as a fork."""


class ProposerError(BehavesimError):
    """A proposer cannot answer, and a retry would not help, as with a wrong key; the run stops and can be resumed."""


class SandboxError(BehavesimError):
    """The sandbox itself failed; this is not caused by a candidate's program."""


class RunInUse(BehavesimError):
    """Another process holds the run; it can be watched, but not resumed."""


class JournalError(BehavesimError):
    """A journal or a file beside it cannot be opened, written or read, or its events contradict one another."""


def failure_message(error: BaseException) -> str:
    """Return in one line what went wrong."""
    # of other errors than ours only the class's name: their text may hold a key
    return one_line(str(error)) if isinstance(error, BehavesimError) else type(error).__name__


def few_files(error: OSError) -> str:
    """Return what to do where the system opens no further file, whose error is one of NO_FILES."""
    return f"{error.strerror}: raise the limit on open files (ulimit -n 1024), or set fewer workers"


# Least difflib ratio, 0 to 1, at which a name may be a slip for another: "tps" for "tsp" has 0.67.
NEAR = 0.65


def nearest(name: str, known: Iterable[str], suffix: str = "") -> str:
    """Return "did you mean 'NAME'?" with the most similar `known` name and `suffix` behind it; "" if none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=NEAR)
    return f"did you mean {near[0] + suffix!r}?" if near else ""


# What code of a user's part may raise. SystemExit, too: `sys.exit()` in it must not end a command without a word.
RAISED = (Exception, SystemExit)

# Exceptions that a task or method may raise if a check gives it invalid values; others are reported as faults.
PROVOKED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)

# The result of a check: "ok" needs nothing, "warning" is worth knowing, "fail" must be corrected.
Result = Literal["ok", "warning", "fail"]


@dataclass(frozen=True)
class Finding:
    """The result of examining one thing: its name, and one line on what was found or what to correct."""

    name: str
    result: Result
    message: str
    section: str = ""  # the heading that it stands under
    text: str = ""  # lines that belong to it, such as a prompt
