"""The seams of a search: what it needs of a proposer, a judge and a journal, and nothing of how they do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from behavesim.state.events import CandidateId, Evaluated, Event, Prompt, Rejected, Reply
from behavesim.state.verdict import Failure, Verdict
from behavesim.task import Solution


class Responder(Protocol):
    """Whatever answers prompts: a proposer, or what stands around one."""

    async def propose(self, prompt: Prompt, number: int, /) -> Reply:
        """The reply to a prompt; passing faults are ridden out, and a reply without content has an empty text.

        Raises ProposerError where asking on makes no sense: the run stops, and can be resumed.
        """
        ...


@dataclass(frozen=True)
class Solved:
    """What a program returned for each instance of a split, in order; nothing of it is to be trusted.

    Where it is to keep no state, `answers` has a row for each call of its function.
    """

    solutions: tuple[Solution, ...]
    cpu_s: float
    answers: tuple[NDArray[Any], ...] = ()


class Sandbox(Protocol):
    """Runs programs where they can do no harm."""

    @property
    def isolation(self) -> str:
        """The level its self-test found: strong+, strong, partial or process."""
        ...

    async def evaluate(self, source: str) -> Solved | Failure:
        """Run one program on every instance; only a failure of the sandbox itself raises (SandboxError)."""
        ...

    async def answer(self, source: str, arguments: tuple[Any, ...]) -> Solved | Failure:
        """Call a program's function once, in a process without instances; its answer comes in place of solutions."""
        ...


class Judge(Protocol):
    """Evaluates programs: the sandbox runs them, trusted code scores what they return."""

    async def evaluate(self, source: str) -> Verdict | Failure:
        """The verdict on a program, or why there is none."""
        ...


class Journal(Protocol):
    """The events of one run, in order."""

    async def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction: on return they survive the death of this process."""
        ...

    async def outcome(self, candidate: CandidateId, source: str) -> Evaluated | Rejected:
        """The committed outcome of a candidate's program with this text."""
        ...
