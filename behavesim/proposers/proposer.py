"""A proposer: who writes the programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

from behavesim.base.config import Options
from behavesim.base.heartbeat import Heartbeat
from behavesim.state.events import Prompt, Reply
from behavesim.state.requests import Requests
from behavesim.task import Task


class ProposerSettings(Options):
    """The settings of a proposer that has none; subclass it for those of your own, each with its docstring below it."""

    keeps_requests: ClassVar[bool] = False
    """Whether a request outlives the process, so that a resumed run finds it again, and none is paid for twice."""

    def models_asked(self) -> tuple[str, ...]:
        """The models that may be asked, whose prices a cap on cost needs to know."""
        return ()


S = TypeVar("S", bound=ProposerSettings)


@dataclass(frozen=True)
class Errand:
    """What a proposer knows of the run it writes for."""

    task: Task
    seed: int
    connections: int
    argument: str = ""
    """What stands behind the proposer's name and a colon: `replay:RUN` has RUN."""
    runs_dir: Path = Path("runs")
    tell: Callable[[str], None] = lambda line: None
    """Takes a line each about what a person should know, such as pauses and faults; it must never hold a key."""
    clock: Heartbeat = field(default_factory=Heartbeat)
    """Time limits go by it: it stands still while the process is stopped or asleep."""
    requests: Requests = field(default_factory=Requests)
    """Where requests that may be billed are counted, each `async with errand.requests.one()`: a stop waits for them."""


class Proposer(ABC, Generic[S]):
    """Answers prompts, several at a time; an async context manager that owns what it opens.

    Subclass it, and name the subclass `proposer` in the proposer's file.
    """

    settings_type: ClassVar[type[ProposerSettings]] = ProposerSettings
    costs_money: ClassVar[bool] = True
    """Whether a reply may cost something, so that what is unknown about its price is said."""
    writes_text: ClassVar[bool] = True
    """Whether it answers any question in words, and not with programs alone."""
    is_pure: ClassVar[bool] = False
    """Whether a reply follows from the prompt, its number and the run's seed alone, so that it can be derived again."""
    brings_time: ClassVar[bool] = False
    """Whether its run goes by the clock of an earlier one, whose replies it has."""

    @classmethod
    @abstractmethod
    def of(cls, settings: S, errand: Errand) -> Self:
        """The proposer of a run, not entered yet; raises UsageError where it cannot be had."""

    @classmethod
    def endpoint(cls) -> str:
        """The URL that is asked, by which the price list knows whose prices hold; empty where nobody's are known."""
        return ""

    @classmethod
    def missing(cls) -> str:
        """What this machine lacks for it, in words that say what to do; empty where nothing does."""
        return ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @abstractmethod
    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The reply to a prompt; passing faults are ridden out, and a reply without content has an empty text.

        `number` is the candidate's, or a note's as `note_number` has it. Raises ProposerError where asking on
        makes no sense: the run stops, and can be resumed.
        """


def note_number(note: int) -> int:
    """The number under which a proposer is asked for a note: -2 and below, apart from all candidates."""
    return -2 - note
