"""What every proposer offers: it answers each prompt with a reply. Also how one is found, and draws at random."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from behavesim.base.config import Configurable, Options, Settings
from behavesim.base.errors import PartError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.plugins import as_part_errors
from behavesim.proposers.prices import Prices
from behavesim.state.events import Prompt, Reply
from behavesim.state.requests import Requests
from behavesim.state.settings import PROPOSERS, proposer_parts
from behavesim.state.state import RunState
from behavesim.state.views import ModelRecord
from behavesim.task import Task

T = TypeVar("T")

# Takes the run's state before a request, and the number of the candidate or note; returns the name of the model to ask.
Chooser = Callable[[RunState, int], str]


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
    # The run's seed.
    seed: int
    # Largest number of requests that may be under way at once.
    connections: int
    # The text after the proposer's name and a colon: RUN in `replay:RUN`; "" if there is none.
    argument: str = ""
    # The folder that holds all runs.
    runs_dir: Path = Path("runs")
    # The run's folder; None if programs are written for no run.
    folder: Path | None = None
    # Number of programs to generate, rejected ones included; 0 if programs are written for no run.
    budget: int = 0
    # Takes notices for a person, such as pauses and faults, one line at a time; a line must never hold a key.
    tell: Callable[[str], None] = lambda line: None
    # Clock for time limits; it does not run while the process is stopped or the machine sleeps.
    clock: Heartbeat = field(default_factory=Heartbeat)
    # Counts requests that may be billed: send each within `async with context.requests.one()`; a stop waits for it.
    requests: Requests = field(default_factory=Requests)


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
    repeats_run: ClassVar[bool] = False
    """Whether it gives the replies of an earlier run again: the run then takes its readings of the clock from there.
    Numbers of questions leave out candidates whose numbers the machine tunes, which are asked of nobody."""

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


def proposer_type(text: str) -> type[Proposer[Any]]:
    """Return the class of the proposer that the setting `proposer` names, such as `command:CMD`, `openai` or `mine.py`.

    Raises UsageError if there is none of this name, if its file cannot be loaded, or if the object called `proposer` in
    the file is no subclass of Proposer.
    """
    return PROPOSERS.load_type(proposer_parts(text)[0], Proposer)


def proposer_of(settings: Settings, context: ProposerContext) -> Proposer[Any]:
    """Return the proposer of a run, not entered yet; its `context.argument` is what `settings.proposer` says.

    Raises UsageError if it is not found, any BehavesimError that its `of` raises, and PartError if `of` of a user's own
    proposer raises another exception or returns no proposer.
    """
    chosen, (_, argument) = proposer_type(settings.proposer), proposer_parts(settings.proposer)
    with as_part_errors(chosen, "proposer"):
        found = chosen.of(settings.of_proposer, replace(context, argument=argument))
    if not isinstance(found, Proposer):
        raise PartError(f"`of` of the proposer {chosen.__name__} must return a proposer, not {found!r:.80}")
    return found


def models_asked(settings: Settings) -> tuple[str, ...]:
    """Return the names of the models that a run with these settings may ask; empty if its proposer names none."""
    return _options(settings).models_asked()


def keeps_requests(settings: Settings) -> bool:
    """Whether open requests outlive the process: a resumed run finds their replies and does not ask again."""
    return _options(settings).leaves_requests()


def takes_notes(settings: Settings) -> bool:
    """Whether a run's proposer answers requests for notes; raises UsageError if the proposer cannot be loaded."""
    return _options(settings).takes_notes() and proposer_type(settings.proposer).writes_text


def _options(settings: Settings) -> ProposerSettings:
    # a user's proposer may have settings of another class, and the settings of an old run may have none
    options = settings.of_proposer
    return options if isinstance(options, ProposerSettings) else ProposerSettings()


def best_for_its_price(state: RunState, models: Sequence[str], rng: np.random.Generator) -> str:
    """Return a model drawn by Thompson sampling of gains per dollar, or per token while a tried one's cost is unknown.

    A candidate gains if it scores better than the best program that its prompt showed. For each model, the share of
    candidates that gain, g of n, is drawn from Beta(1 + g, 1 + n - g) and divided by the model's mean cost; the
    greatest wins. A model without a candidate has the mean cost of the others.
    """
    # only registered candidates count: the choice depends on the run's state and `rng` alone, and can be made again
    records = [state.models.get(model, ModelRecord()) for model in models]
    chances = np.array([rng.beta(1 + each.gains, 1 + each.candidates - each.gains) for each in records])
    costs = _mean_costs(state, models, records)
    tried = [cost for cost in costs if cost is not None]
    usual = sum(tried) / len(tried) if tried else 1.0
    return models[int(np.argmax(chances / np.array([usual if cost is None else cost for cost in costs])))]


def _mean_costs(state: RunState, models: Sequence[str], records: Sequence[ModelRecord]) -> list[float | None]:
    """Return what a candidate of each model costs on average, all in USD or all in tokens; None without a candidate."""
    # Prices are those of the run's start or last fork: others, given on resume, would change what an audit decides
    # again.
    prices = Prices.named(state.started.settings.get("prices", {})) if state.started else Prices({})
    tried = [each.candidates > 0 for each in records]
    sums = [each.tokens.with_estimates() for each in records]
    dollars = [prices.cost(model, each) for model, each in zip(models, sums, strict=True)]
    in_dollars = all(cost for cost, is_tried in zip(dollars, tried, strict=True) if is_tried)
    # at least 1 token: the chances are divided by the means
    totals = dollars if in_dollars else [float(each.prompt + each.completion) or 1.0 for each in sums]
    return [
        None if total is None or not each.candidates else total / each.candidates
        for total, each in zip(totals, records, strict=True)
    ]


class ProgramWriter(Protocol):
    """Writes new programs from those that a prompt shows, without a model."""

    def write(self, operator: str, shown: Sequence[str], random: np.random.Generator) -> tuple[str, str]:
        """Return a sentence on a new program, and the fenced program or the edits that give it.

        `operator` is the prompt's. `shown` are the texts of its fenced blocks, the best program last.
        """
        ...


class OfflineProposer(Protocol):
    """What the plug-in `genetic` offers beside its replies: programs for the checks of a task."""

    def grammar_writer(self, task: Task) -> ProgramWriter | None:
        """Return what builds programs from the task's grammar; None if no grammar suits the task.

        Raises TaskError if the task's grammar is not valid.
        """
        ...

    def text_writer(self, task: Task) -> ProgramWriter:
        """Return what changes the text of programs."""
        ...


def offline_proposer() -> OfflineProposer:
    """Return the class of the offline proposer, a plug-in like any other: no module here may import it."""
    found: OfflineProposer = PROPOSERS.load("genetic")
    return found


def uniform(items: Sequence[T], random: np.random.Generator) -> T:
    """Return one of the items, each with the same probability; there must be at least one."""
    return items[int(random.integers(len(items)))]


def uniform_or_none(items: Sequence[T], random: np.random.Generator) -> T | None:
    """Return one of the items, each with the same probability; None if there is none."""
    return uniform(items, random) if items else None


def weighted(weights: Mapping[T, float], random: np.random.Generator) -> T:
    """Return one of the keys, each with a probability in proportion to its weight; ValueError if all weights are 0."""
    values = np.array(list(weights.values()), dtype=np.float64)
    # by index: numpy would turn the keys into an array
    return list(weights)[int(random.choice(len(values), p=values / values.sum()))]
