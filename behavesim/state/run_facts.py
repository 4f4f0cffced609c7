"""The part of a run's state that concerns the whole run, and not single candidates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from behavesim.base.errors import JournalError
from behavesim.state.advice import Advice, advice
from behavesim.state.events import (
    Advised,
    BatchSent,
    ClockRead,
    Injected,
    PortfolioChosen,
    Recommended,
    RunEvent,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
)
from behavesim.state.tally import Tally


@dataclass(eq=False, repr=False, kw_only=True)
class RunFacts:
    """The part of `RunState`, its subclass, that concerns the whole run, and not single candidates."""

    started: RunStarted | None = None
    """The settings and the provenance in force, from the start or the last fork; None before the start."""
    isolation: str = ""
    """The sandbox's isolation level: strong+, strong, partial or process; "" before the start."""
    stopped: str | None = None
    """The `reason` of RunStopped; None while the run goes on, or if it was killed."""
    failure: str = ""
    """What went wrong, if an error ended the run: the `message` of RunStopped; "" otherwise."""
    under_way: int | None = None
    """Number of requests at the last stop that may be billed though no stored reply counts them; None if unknown, or
    while the run goes on."""
    used_budgets: list[int] = field(default_factory=list)
    """The budgets (candidates) that were used up since the start or the last fork, in order."""
    asked: int = 0
    """Number of candidates asked for, injected ones included; a repair does not count again."""
    registered: int = 0
    """Number of candidates registered. They are registered in the order of their numbers."""
    without_candidate: int = 0
    """Number of regroupings and notes since a candidate was last asked for or registered, or since a fork."""
    injected: list[Injected] = field(default_factory=list)
    """Injected programs that have not become candidates yet, oldest first."""
    brought_names: set[str] = field(default_factory=set)
    """The names of all injected programs, those that became candidates included, and of all advice."""
    advised: list[Advised] = field(default_factory=list)
    """All advice and its withdrawals, in order; `not_before` is the candidate from which each holds."""
    active_s: float = 0.0
    """Seconds the run has been active by the last clock reading in force, by which decisions are made; 0 before."""
    readings: list[ClockRead] = field(default_factory=list)
    """Clock readings not in force yet, oldest first: they wait until their number of candidates is registered."""
    batched: dict[int, BatchSent] = field(default_factory=dict)
    """The batch in which each prompt was sent, by the prompt's number: only of prompts that were sent in one and have
    no reply yet."""
    recommended: Recommended | None = None
    """The latest choice on validation instances since the start or the last fork; None if none was made."""
    recommended_of: int | None = None
    """Number of registered candidates that `recommended` was chosen from; None if none was made."""
    portfolio: PortfolioChosen | None = None
    """The latest portfolio since the start or the last fork; None if none was chosen."""
    portfolio_of: int | None = None
    """Number of this run's registered candidates that `portfolio` was chosen from; None if none was chosen."""
    tally: Tally = field(default_factory=Tally)
    """Counts of outcomes and requests."""

    @property
    def budget(self) -> int:
        """The budget (candidates) at the start or the last fork, not as raised later; JournalError before the start."""
        if self.started is None:
            raise JournalError("a run that has not started has no budget")
        return int(self.started.settings["budget"])

    @property
    def has_recommended(self) -> bool:
        """Whether the choice on validation instances was made among all candidates that are registered by now."""
        return self.recommended_of == self.registered  # the count is None if there is no choice

    @property
    def last_reading_s(self) -> float:
        """Active seconds of the run at the last clock reading, in force or not; 0 before the first."""
        return self.readings[-1].active_s if self.readings else self.active_s

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The advice that was or is in force, or waits for its first candidate, oldest first."""
        return advice(self.advised)

    def _apply_to_run(self, event: RunEvent) -> None:
        match event:
            case Injected(name):
                self.injected.append(event)
                self.brought_names.add(name)
            case Advised(name):
                self.advised.append(replace(event, not_before=max(event.not_before, self.asked)))
                self.brought_names.add(name)
            case ClockRead():
                self.readings.append(event)
                self._apply_readings()
            case BatchSent(numbers=numbers):
                self.batched |= dict.fromkeys(numbers, event)
            case RunStarted():
                self.started, self.isolation = event, event.isolation
            case RunForked(_, settings, provenance):
                self.without_candidate = 0  # the method may have been mended since
                self.started, self.stopped = RunStarted(settings, provenance, self.isolation), None
                self.failure, self.used_budgets = "", []
                # they were chosen under other settings, and perhaps by another `validation` split
                self.recommended = self.recommended_of = self.portfolio = self.portfolio_of = None
            case RunResumed():
                self.stopped, self.failure, self.under_way, self.isolation = None, "", None, event.isolation
                self.tally.unanswered += event.unanswered
            case RunStopped(reason):
                self.stopped, self.failure, self.under_way = reason, event.message, event.under_way
                if reason == "budget" and self.registered not in self.used_budgets:
                    self.used_budgets.append(self.registered)
            case Recommended():
                self.recommended, self.recommended_of = event, self.registered
            case PortfolioChosen():
                self.portfolio, self.portfolio_of = event, self.registered
            case _:
                assert_never(event)

    def _apply_readings(self) -> None:
        """Put waiting clock readings in force, oldest first, until one needs more registered candidates."""
        while self.readings and self.readings[0].registered <= self.registered:
            self.active_s = self.readings.pop(0).active_s
