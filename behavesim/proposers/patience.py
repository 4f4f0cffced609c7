"""What follows when a request fails: it is repeated after a pause, its prompt is given up, or the run stops."""

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
"""Smallest number of failed requests of one prompt before silence stops a run: one late fault proves little."""


@dataclass(frozen=True)
class Patience:
    """How often and how long failed requests are repeated; fields in `_s` are seconds, the others numbers of times."""

    request_s: float = 300.0
    """Time limit of one request."""
    outage_s: float = 600.0
    """The run stops if a request fails and no prompt has had a reply for this long."""
    start_s: float = 60.0
    """The same limit as `outage_s`, before the first reply of this session."""
    attempts: int = 12
    """A prompt is given up after this many faults of its own, if other prompts have had replies meanwhile."""
    setup: int = 3
    """Before the first reply, the run stops after this many faults of a prompt if the last suggests a wrong URL or
    command."""
    empty: int = 3
    """Times that a prompt is sent again because its reply had no content."""
    backoff_s: float = 1.0
    """First pause before a request is repeated; later pauses double."""
    pause_s: float = 3600.0
    """The run stops if the endpoint asks for a longer pause than this."""


@dataclass
class Trials:
    """Counts of what has happened to the requests of one prompt so far."""

    number: int
    """Number of the candidate; -2 and below for a note, as `note_number` gives it."""
    since: float
    """When the prompt was first asked, in seconds by the run's clock."""
    calls: list[Usage] = field(default_factory=list)
    """Tokens of each request that was answered."""
    unanswered: int = 0
    """Requests without an answer that may be billed all the same."""
    faults: int = 0
    """Requests that failed, apart from `refusals`."""
    refusals: int = 0
    """Requests that the endpoint told to slow down."""
    empty: int = 0
    """Replies without content."""

    @property
    def spent(self) -> int:
        """The number of requests so far that were billed or may have been: all but those that took no tokens."""
        return self.unanswered + sum(call.prompt != 0 or call.completion != 0 for call in self.calls)

    def reply(self, text: str, model: str, finish_reason: str | None = None, fault: str = "") -> Reply:
        """Return a reply with the tokens of all requests of the prompt.

        `finish_reason` is the endpoint's, None if it gave none. `fault` says why a prompt was given up; "" if it was
        not.
        """
        return Reply(text, model, tuple(self.calls), finish_reason, self.unanswered, fault)


class Perseverance:
    """Decides for all prompts of a proposer what follows from a fault: a pause, giving up one prompt, or a stop."""

    def __init__(
        self, patience: Patience, tell: Callable[[str], None], clock: Heartbeat, scrub: Callable[[str], str]
    ) -> None:
        """`tell` gets each notice, one line at a time. `scrub` removes secrets from all notices and errors."""
        self.patience = patience
        self._tell, self._clock, self._scrub = tell, clock, scrub
        self._often = Sparing(self.note, clock)
        self._replied_at: float | None = None
        self._fatal: str | None = None

    @property
    def has_replied(self) -> bool:
        """Whether any prompt has had a reply yet."""
        return self._replied_at is not None

    def begin(self, number: int) -> Trials:
        """Return empty counts for a prompt that is first asked now; `number` is that of its candidate or note."""
        return Trials(number, self._clock())

    def replied(self) -> None:
        """Record that a prompt has had a reply now; silence is measured from here."""
        self._replied_at = self._clock()

    def note(self, line: str) -> None:
        """Give a notice without its secrets."""
        self._tell(self._scrub(line))

    def note_sparingly(self, kind: str, line: str, lasts_s: float = 0.0) -> None:
        """Give a notice at most once a minute for each `kind`.

        One about a wait of `lasts_s` seconds is given at once if the wait has become much longer.
        """
        self._often(kind, line, lasts_s)

    def stop(self, message: str) -> NoReturn:
        """Raise ProposerError with the message, without its secrets; from now on `refuse_if_stopped` raises it, too."""
        self._fatal = self._scrub(message)
        raise ProposerError(self._fatal)

    def refuse_if_stopped(self) -> None:
        """Raise ProposerError if `stop` was called; called before each request, so that no further one is sent."""
        if self._fatal is not None:
            raise ProposerError(self._fatal)

    def give_up(self, trials: Trials, message: str) -> None:
        """Give a notice, at most once a minute, that a prompt is given up; `message` says why."""
        self._often("given up", f"the prompt of candidate {trials.number} is given up: {message}")

    def after_empty(self, trials: Trials) -> float | None:
        """Count a reply without content; return the seconds to wait before the prompt is sent again.

        None after more than `Patience.empty` such replies: the last one is kept.
        """
        trials.empty += 1
        return None if trials.empty > self.patience.empty else self._backoff(trials.empty)

    def after_refusal(self, trials: Trials, message: str, *, is_timed: bool) -> None:
        """Count a request that the endpoint told to slow down.

        Raises ProposerError if no prompt has had a reply for too long; never if the endpoint named a time to wait
        (`is_timed`).
        """
        trials.refusals += 1
        if not is_timed:
            self._borne_s(trials, message)

    def after_fault(
        self, trials: Trials, message: str, *, is_setup: bool = False, wait_s: float | None = None
    ) -> float | None:
        """Count a failed request; return the seconds to wait before it is repeated, None if its prompt is given up.

        `is_setup`: the fault suggests a wrong URL or command. `wait_s` is the shortest pause in seconds; None for any.
        Raises ProposerError if the run has to stop, by the limits of `Patience`.
        """
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
        """Return the seconds of silence that are left until the run stops; 0 if none are.

        Raises ProposerError if none are left and the prompt has failed FEWEST times.
        """
        silence = self._clock() - max(trials.since, self._replied_at or 0.0)
        if silence > self._silence_s and trials.faults + trials.refusals >= FEWEST:
            self.stop(f"no reply for {silence:.0f} s; the last fault: {message}")
        return max(0.0, self._silence_s - silence)

    @property
    def _silence_s(self) -> float:
        return self.patience.outage_s if self.has_replied else self.patience.start_s

    def _backoff(self, attempt: int) -> float:
        return backoff_s(attempt, self.patience.backoff_s, random.random())
