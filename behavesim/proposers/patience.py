"""Patience with whoever answers prompts: when a failed request is repeated, a prompt given up, a run stopped."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import Sparing
from behavesim.base.tokens import Usage
from behavesim.proposers.limiter import backoff_s
from behavesim.state.events import Reply

FEWEST = 3
"""Faults of one prompt before silence stops a run: a single late fault says little."""


@dataclass(frozen=True)
class Patience:
    """How long faults are ridden out, in seconds and attempts.

    A request that fails is repeated until nobody has had a reply for `outage_s` (`start_s` before the first reply);
    then the run stops. Before the first reply it stops after `setup` tries if the endpoint or the command seems to be
    the wrong one: no such host, a web page, no such command. While others are answered, a prompt is given up after
    `attempts` faults of its own. A reply without content is asked for again `empty` times. Pauses begin at `backoff_s`
    and double; one of more than `pause_s` that the endpoint asks for stops the run. One request takes `request_s`.
    """

    request_s: float = 300.0
    outage_s: float = 600.0
    start_s: float = 60.0
    attempts: int = 12
    setup: int = 3
    empty: int = 3
    backoff_s: float = 1.0
    pause_s: float = 3600.0


@dataclass
class Trials:
    """What one prompt has been through so far; `since` is when it was first asked, by the run's clock."""

    number: int
    since: float
    calls: list[Usage] = field(default_factory=list)
    unanswered: int = 0
    faults: int = 0
    refusals: int = 0
    empty: int = 0

    @property
    def spent(self) -> int:
        """Requests so far that were billed, or may have been: all but those that were refused."""
        return self.unanswered + sum(call.prompt != 0 or call.completion != 0 for call in self.calls)

    def reply(self, text: str, model: str, finish_reason: str | None = None, fault: str = "") -> Reply:
        """The reply to the prompt, with what all its requests took."""
        return Reply(text, model, tuple(self.calls), finish_reason, self.unanswered, fault)


class Perseverance:
    """Decides for all prompts of a proposer what follows from a fault: a pause, giving up one prompt, or a stop.

    Everything it says or raises has gone through `scrub`, which takes out secrets.
    """

    def __init__(
        self, patience: Patience, tell: Callable[[str], None], clock: Heartbeat, scrub: Callable[[str], str]
    ) -> None:
        self.patience = patience
        self._tell, self._clock, self._scrub = tell, clock, scrub
        self._often = Sparing(self.note, clock)
        self._replied_at: float | None = None
        self._fatal: str | None = None

    @property
    def has_replied(self) -> bool:
        """Whether anybody has had a reply yet."""
        return self._replied_at is not None

    def begin(self, number: int) -> Trials:
        """The trials of a prompt that is asked now, for candidate or note `number`."""
        return Trials(number, self._clock())

    def replied(self) -> None:
        """Somebody has had a reply."""
        self._replied_at = self._clock()

    def note(self, line: str) -> None:
        """Tell the run, each time."""
        self._tell(self._scrub(line))

    def note_sparingly(self, kind: str, line: str, lasts_s: float = 0.0) -> None:
        """Tell the run, once a minute for each kind."""
        self._often(kind, line, lasts_s)

    def stop(self, message: str) -> NoReturn:
        """Stop the run: raises ProposerError, here and wherever a request would be sent afterwards."""
        self._fatal = self._scrub(message)
        raise ProposerError(self._fatal)

    def refuse_if_stopped(self) -> None:
        """Raises ProposerError if the run has been stopped."""
        if self._fatal is not None:
            raise ProposerError(self._fatal)

    def give_up(self, trials: Trials, message: str) -> None:
        """Say that a prompt is given up."""
        self._often("given up", f"the prompt of candidate {trials.number} is given up: {message}")

    def after_empty(self, trials: Trials) -> float | None:
        """The pause before a reply without content is asked for again; None if this one is kept."""
        trials.empty += 1
        return None if trials.empty > self.patience.empty else self._backoff(trials.empty)

    def after_refusal(self, trials: Trials, message: str, *, is_timed: bool) -> None:
        """Count a request that was told to slow down; unless it was told for how long, too long a silence is a stop."""
        trials.refusals += 1
        if not is_timed:
            self._borne_s(trials, message)

    def after_fault(
        self, trials: Trials, message: str, *, is_setup: bool = False, wait_s: float | None = None
    ) -> float | None:
        """The pause before a failed request is repeated, `wait_s` at least; None if its prompt is given up."""
        trials.faults += 1
        if is_setup and not self.has_replied and trials.faults >= self.patience.setup:
            self.stop(message)
        left_s = self._borne_s(trials, message)
        is_well = self._replied_at is not None and self._replied_at > trials.since
        if is_well and trials.faults >= self.patience.attempts:
            self.give_up(trials, message)
            return None
        until = "" if is_setup else f" until nobody has had a reply for {self._silence_s:g} s"
        self._often("fault", f"{message}; asking again{until}")
        # Without this bound a pause that began in time could end long after patience has.
        pause = min(self._backoff(trials.faults), left_s + self.patience.backoff_s)
        return max(pause, wait_s or 0.0)

    def _borne_s(self, trials: Trials, message: str) -> float:
        """The seconds of silence that are still borne; stops the run if there are none left."""
        silence = self._clock() - max(trials.since, self._replied_at or 0.0)
        if silence > self._silence_s and trials.faults + trials.refusals >= FEWEST:
            self.stop(f"no reply for {silence:.0f} s; the last fault: {message}")
        return max(0.0, self._silence_s - silence)

    @property
    def _silence_s(self) -> float:
        return self.patience.outage_s if self.has_replied else self.patience.start_s

    def _backoff(self, attempt: int) -> float:
        return backoff_s(attempt, self.patience.backoff_s, random.random())
