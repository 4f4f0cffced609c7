"""What every proposer offers: it answers each prompt with a reply that holds a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

from behavesim.base.config import Configurable, Options
from behavesim.base.heartbeat import Heartbeat
from behavesim.state.events import Prompt, Reply
from behavesim.state.exchange import note_number as note_number
from behavesim.state.requests import Requests
from behavesim.state.state import RunState
from behavesim.task import Task

Chooser = Callable[[RunState, int], str]
"""Takes the run's state before a request, and a number; returns the name of the model to ask.

The number is the candidate's, or, for a note, -2 and below (see `note_number`)."""


class ProposerSettings(Options):
    """Base class of a proposer's settings, without any of its own; subclass it, with a docstring below each field."""

    keeps_requests: ClassVar[bool] = False
    """Whether open requests outlive the process, so that a resumed run finds their replies instead of asking again."""
    counted_as: ClassVar[str] = ""
    """The model's name under which replies are counted and priced if it is not known who writes them; "" if it is
    known."""

    def models_asked(self) -> tuple[str, ...]:
        """Return the names of the models that may be asked and need a price for a limit on cost; empty if none does."""
        return (self.counted_as,) if self.counted_as else ()

    def chooser(self, seed: int) -> Chooser | None:
        """Return what chooses the model of each request by the run's state; None if the proposer itself chooses.

        `seed` is the run's.
        """
        return None

    def leaves_requests(self) -> bool:
        """Whether open requests outlive the process under these settings; `keeps_requests` unless overridden."""
        return self.keeps_requests

    def takes_notes(self) -> bool:
        """Whether the proposer, if it writes text, answers requests for notes (texts such as reflections)."""
        return True


S = TypeVar("S", bound=ProposerSettings)


@dataclass(frozen=True)
class ProposerContext:
    """What a proposer is given about the run that it writes programs for."""

    task: Task
    seed: int
    """The run's seed."""
    connections: int
    """Largest number of requests that may be under way at once."""
    argument: str = ""
    """The text after the proposer's name and a colon: RUN in `replay:RUN`; "" if there is none."""
    runs_dir: Path = Path("runs")
    """The folder that holds all runs."""
    folder: Path | None = None
    """The run's folder; None if programs are written for no run."""
    budget: int = 0
    """Number of programs to generate, rejected ones included; 0 if programs are written for no run."""
    tell: Callable[[str], None] = lambda line: None
    """Takes notices for a person, such as pauses and faults, one line at a time; a line must never hold a key."""
    clock: Heartbeat = field(default_factory=Heartbeat)
    """Clock for time limits; it does not run while the process is stopped or the machine sleeps."""
    requests: Requests = field(default_factory=Requests)
    """Counts requests that may be billed: send each within `async with context.requests.one()`; a stop waits for it."""


class Proposer(Configurable, ABC, Generic[S]):
    """Base class of all proposers: answers prompts, several at a time, as an async context manager.

    To write one, subclass it, and call the subclass `proposer` in the proposer's file.
    """

    settings_type: ClassVar[type[ProposerSettings]] = ProposerSettings
    """The class of its settings."""
    costs_money: ClassVar[bool] = True
    """Whether a reply may cost money; if so, unknown prices and token counts are reported or estimated."""
    writes_text: ClassVar[bool] = True
    """Whether it can answer any prompt in words; False if it returns programs alone."""
    is_pure: ClassVar[bool] = False
    """Whether a reply depends on the task, settings, prompt, number and seed alone, so that it can be made again."""
    brings_time: ClassVar[bool] = False
    """Whether the run takes its readings of the clock from an earlier run, whose replies this proposer gives again."""

    @classmethod
    @abstractmethod
    def of(cls, settings: S, context: ProposerContext) -> Self:
        """Return a proposer for a run, not entered yet.

        Raises UsageError if the settings, the context or this machine do not allow one.
        """

    @classmethod
    def endpoint(cls) -> str:
        """Return the URL that requests go to, by which the price list finds the vendor; "" if there is none."""
        return ""

    @classmethod
    def missing(cls) -> str:
        """Return a sentence on what this machine lacks for the proposer and what to do; "" if nothing is missing."""
        return ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @abstractmethod
    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply to a prompt; its text is empty if it has no content.

        `number` is the candidate's, or, for a note, -2 and below (see `note_number`). Faults that may pass are handled
        here, by asking again. Raises ProposerError if asking again would not help: the run stops, and can be resumed.
        """
