"""The protocols that a search uses: who answers prompts, who runs and judges programs, and who keeps the events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from behavesim.state.events import CandidateId, Evaluated, Event, Prompt, Rejected, Reply
from behavesim.task import Solution
from behavesim.task.verdict import Failure, Verdict


class Responder(Protocol):
    """Answers prompts. In a run it is a `PricedProposer` around one of the proposers (see `engine.build.wired`)."""

    async def propose(self, prompt: Prompt, number: int, /) -> Reply:
        """Return the reply to a prompt, after retries of temporary faults; an empty answer is a reply with text ''.

        `number` is the candidate's number; for a note it is below -1. Raises ProposerError if further requests make no
        sense, as with a wrong key: the run then stops, and can be resumed. A user's proposer may raise PartError.
        """
        ...


@dataclass(frozen=True)
class Solved:
    """The solutions a program returned, one for each instance of a split, in order. They are not checked yet.

    `cpu_s` is CPU seconds over all instances. For a stateless task, `answers` has an array for each instance, with a
    row for each call of the program's function; for others it is empty. `counted_s` are those of the CPU seconds that
    count towards the limit, None if unknown: an allowance for the first call does not count.
    """

    solutions: tuple[Solution, ...]
    cpu_s: float
    answers: tuple[NDArray[Any], ...] = ()
    counted_s: float | None = None


Postponed = Callable[[str, str], None]
"""Called when a program was put off: why ("clock", "memory" or "cpu"), and words for people."""


def unnoticed(reason: str, words: str) -> None:
    """Do nothing about a program that was put off."""


class Sandbox(Protocol):
    """Runs programs in isolated processes."""

    @property
    def isolation(self) -> str:
        """The isolation level that the self-test found: strong+, strong, partial or process, strongest first."""
        ...

    async def evaluate(self, source: str, postponed: Postponed = unnoticed, /) -> Solved | Failure:
        """Run the program `source` on every instance that the sandbox was made for. Return its solutions, or a Failure.

        While the machine may be at fault for how it ended, `postponed` is called, and the program is run again, alone.
        Raises SandboxError only if the sandbox itself fails, or the machine stays in doubt.
        """
        ...

    async def answers(
        self, source: str, calls: Sequence[tuple[Any, ...]], postponed: Postponed = unnoticed, /
    ) -> Solved | Failure:
        """Make calls of a program's function, each a tuple of arguments, in one process that has no instances.

        `solutions` of the result holds an answer for each call. Returns a Failure if a call fails. `postponed` is
        called and SandboxError raised as by `evaluate`; TaskError is raised if arguments cannot be pickled.
        """
        ...


class Judge(Protocol):
    """Evaluates programs: `SandboxJudge` by a task's trusted code, `EvaluatorJudge` by an evaluator."""

    async def evaluate(self, source: str, postponed: Postponed = unnoticed, /) -> Verdict | Failure:
        """Return the verdict on the program `source`, or a Failure if it cannot be run or scored.

        `postponed` is called each time that the program is put off, since the machine may be at fault. Raises
        SandboxError if the sandbox itself fails, TaskError if the fault is the task's, such as a stateless task's call
        that cannot be pickled.
        """
        ...


class Journal(Protocol):
    """Stores the events of one run, in order: `SqliteJournal`."""

    async def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction: on return they survive the death of this process.

        Raises JournalError if they cannot be written.
        """
        ...

    async def earlier_outcome(self, candidate: CandidateId, source: str) -> Evaluated | Rejected:
        """Return the committed outcome of a candidate whose program has this text; there must be one."""
        ...
