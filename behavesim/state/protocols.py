"""The protocols that a search uses: who answers prompts, who runs and judges programs, and who keeps the events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self

from behavesim.state.events import CandidateId, Evaluated, Event, Prompt, Rejected, Reply
from behavesim.task.verdict import Block, Failure, Sent, Verdict


class Responder(Protocol):
    """Answers prompts. In a run it is a `PricedProposer` around one of the proposers."""

    async def propose(self, prompt: Prompt, number: int, /) -> Reply:
        """Return the reply to a prompt, after retries of temporary faults; an empty answer is a reply with text ''.

        `number` is the candidate's number; for a note it is below -1. Raises ProposerError if further requests make no
        sense, as with a wrong key: the run then stops, and can be resumed. A user's proposer may raise PartError.
        """
        ...


# Called when a program was put off: why ("clock", "memory" or "cpu"), and words for people.
Postponed = Callable[[str, str], None]


def unnoticed(reason: str, words: str) -> None:
    """Do nothing about a program that was put off."""


class Sandbox(Protocol):
    """Runs programs in isolated processes; an async context manager."""

    @property
    def isolation(self) -> str:
        """The isolation level that the self-test found: strong+, strong, partial or process, strongest first."""
        ...

    async def send(
        self, source: str, postponed: Postponed = unnoticed, block: Block | None = None, /
    ) -> Sent | Failure:
        """Run the program `source` on every instance that the sandbox was made for, or on those of a block.

        Return what it sent, or a Failure.
        While the machine may be at fault for how it ended, `postponed` is called, and the program is run again, alone.
        Raises SandboxError only if the sandbox itself fails, or the machine stays in doubt.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


class Judge(Protocol):
    """Evaluates programs: `SandboxJudge` by a task's trusted code, `EvaluatorJudge` by an evaluator."""

    async def evaluate(
        self, source: str, postponed: Postponed = unnoticed, block: Block | None = None, /
    ) -> Verdict | Failure:
        """Return the verdict on the program `source`, or a Failure if it cannot be run or scored.

        It runs on the instances of the split, or on the further ones of a block: then the verdict has no trajectories.
        `postponed` is called each time that the program is put off, since the machine may be at fault. Raises
        SandboxError if the sandbox itself fails, TaskError if the fault is the task's.
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
