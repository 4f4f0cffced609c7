"""Decides what follows when a request fails: it is repeated after a pause, its prompt is given up, or the run stops."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import Sparing
from behavesim.base.tokens import Usage
from behavesim.proposers.limiter import backoff_s
from behavesim.state.events import Reply

FEWEST = 3
"""Smallest number of failed requests of one prompt before silence stops a run: one late fault proves little."""

REFUSED = Usage(prompt=0, cached=0, completion=0, reasoning=0)
"""Usage of a request that the endpoint refused: no tokens, since no endpoint bills for an error status."""

Meaning = Literal["fatal", "limited", "passing", "setup", "parameter", "prompt", "path", "request"]
"""What the proposer does after a fault. "fatal": stop the run. "limited": slow down. "passing": ask again. "setup": the
URL or command seems wrong; ask again, but stop soon unless there were replies before. "parameter": leave the parameter
out. "prompt": give up the prompt. "path": ask under /v1. "request": give up the prompt; stop if there was no reply
before."""


@dataclass(frozen=True)
class Fault:
    """Why a request gave no reply."""

    meaning: Meaning
    """What the proposer does after it."""
    message: str
    """What happened and what to do, for a person."""
    usage: Usage | None = REFUSED
    """The tokens of the request; None if there was no answer at all."""
    wait_s: float | None = None
    """Seconds that the endpoint asks to wait before the next request; None if it names no time."""
    parameter: str = ""
    """The parameter that the model refuses; "" if the fault is another one."""
    may_be_billed: bool = False
    """Whether the request was sent and had no complete answer, so that nobody knows whether it is billed."""


@dataclass(frozen=True)
class Patience:
    """How often and how long failed requests are repeated; fields in `_s` are seconds, the others numbers of times."""

    request_s: float = 300.0
    """Time limit of one request, in seconds."""
    outage_s: float = 600.0
    """The run stops if a request fails this long after the last reply, and after its prompt was first asked."""
    start_s: float = 60.0
    """The same limit as `outage_s`, before the first reply of this session."""
    attempts: int = 12
    """A prompt is given up at this many faults that may pass, if another had a reply since this one was first asked."""
    setup: int = 3
    """Before the first reply of a session, the run stops at this many faults of a prompt that may pass, if the last
    suggests a wrong URL or command."""
    empty: int = 3
    """Most times that a prompt is sent again because its reply had no content."""
    backoff_s: float = 1.0
    """Longest first pause before a request is repeated; each later one may be twice as long, up to a minute."""
    pause_s: float = 3600.0
    """The run stops if the endpoint asks for a longer pause than this."""


@dataclass
class PromptTries:
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
    """Requests that failed in a way that may pass, "passing" or "setup"; other faults do not count."""
    refusals: int = 0
    """Requests that the endpoint answered with the demand to slow down."""
    empty: int = 0
    """Replies without content."""
    batches: int = 0
    """Batches that ended without a reply to the prompt."""

    @property
    def spent(self) -> int:
        """The number of requests so far that were billed or may have been: all but those that took no tokens."""
        return self.unanswered + sum(call.prompt != 0 or call.completion != 0 for call in self.calls)

    def reply(self, text: str, model: str, finish_reason: str | None = None, fault: str = "") -> Reply:
        """Return a reply with the tokens of all requests of the prompt.

        `finish_reason` is the endpoint's, None if it gave none. `fault` says why the prompt was given up; "" if it was
        not.
        """
        return Reply(text, model, tuple(self.calls), finish_reason, self.unanswered, fault)


class Perseverance:
    """Decides for all prompts of a proposer what follows from a fault: a pause, giving up one prompt, or a stop."""

    def __init__(
        self, patience: Patience, tell: Callable[[str], None], clock: Heartbeat, scrub: Callable[[str], str]
    ) -> None:
        """`tell` gets each notice, one line at a time. `scrub` removes secrets from all notices and errors.

        `sparing(kind, line, lasts_s)` gives a notice at most once a minute for each `kind`, but that of a much longer
        pause at once.
        """
        self._patience, self._tell, self._clock, self._scrub = patience, tell, clock, scrub
        self.sparing = Sparing(self.note, clock)
        self._replied_at = -math.inf
        self._fatal: str | None = None

    @property
    def has_replied(self) -> bool:
        """Whether any prompt has had a reply in this session."""
        return self._replied_at > -math.inf

    def begin(self, number: int) -> PromptTries:
        """Return empty counts for a prompt that is first asked now; `number` is that of its candidate or note."""
        return PromptTries(number, self._clock())

    def replied(self) -> None:
        """Record that a prompt has had a reply now; silence is measured from here."""
        self._replied_at = self._clock()

    def note(self, line: str) -> None:
        """Give a notice without its secrets, at once and every time."""
        self._tell(self._scrub(line))

    def refuse_if_stopped(self) -> None:
        """Raise ProposerError if a fault has stopped the run; call this before each request, so that none follows."""
        if self._fatal is not None:
            raise ProposerError(self._fatal)

    def after_empty(self, tries: PromptTries) -> float | None:
        """Count a reply without content; return the seconds to wait before the prompt is sent again.

        Return None after more than `Patience.empty` such replies: the last one is kept.
        """
        tries.empty += 1
        return None if tries.empty > self._patience.empty else self._backoff_s(tries.empty)

    def after_fault(self, tries: PromptTries, fault: Fault) -> float | None:
        """Count a failed request; return the seconds to wait before the prompt is sent again, None if it is given up.

        For "parameter" and "limited" that is 0: the first is left out, and the limiter waits for the second. Raises
        ProposerError if the run has to stop, by the fault's meaning ("path" stops it, too) or the limits of `Patience`.
        """
        tries.unanswered += fault.may_be_billed
        wait_s, message = fault.wait_s, fault.message
        if wait_s is not None and wait_s > self._patience.pause_s:
            self._stop(f"{message}; resume the run in {wait_s / 3600:,.1f} hours, when it has passed")
        match fault.meaning:
            case "fatal" | "path":
                self._stop(message)
            case "request" if not self.has_replied:
                self._stop(message)
            case "prompt" | "request":
                self._give_up(tries, message)
                return None
            case "limited":
                tries.refusals += 1
                if not wait_s:  # an endpoint that names a time is not silent
                    self._borne_s(tries, message)
                return 0.0  # the limiter holds back the next request
            case "parameter":
                return 0.0
        return self._after_failure(tries, fault)

    def _after_failure(self, tries: PromptTries, fault: Fault) -> float | None:
        """Count a fault that may pass, "passing" or "setup"; return and raise as `after_fault` does."""
        tries.faults += 1
        is_setup = fault.meaning == "setup"
        if is_setup and not self.has_replied and tries.faults >= self._patience.setup:
            self._stop(fault.message)
        left_s = self._borne_s(tries, fault.message)
        if self._replied_at > tries.since and tries.faults >= self._patience.attempts:
            self._give_up(tries, fault.message)
            return None
        until = "" if is_setup else f" until nobody has had a reply for {self._silence_s:g} s"
        self.sparing("fault", f"{fault.message}; asking again{until}")
        # Without this bound a pause that began in time could end long after patience has.
        pause = min(self._backoff_s(tries.faults), left_s + self._patience.backoff_s)
        return max(pause, fault.wait_s or 0.0)

    def _stop(self, message: str) -> NoReturn:
        """Raise ProposerError with the message, without its secrets, now and in each later `refuse_if_stopped`."""
        self._fatal = self._scrub(message)
        raise ProposerError(self._fatal)

    def _give_up(self, tries: PromptTries, message: str) -> None:
        """Give a notice, at most once a minute, that the prompt will not be sent again; `message` says why."""
        self.sparing("given up", f"the prompt of candidate {tries.number} is given up: {message}")

    def _borne_s(self, tries: PromptTries, message: str) -> float:
        """Return the seconds of silence that are left until the run stops; 0 if none are.

        Raises ProposerError if none are left and the prompt has failed FEWEST times.
        """
        # A prompt that was asked after a long quiet time has its own patience from then.
        silence = self._clock() - max(tries.since, self._replied_at)
        if silence > self._silence_s and tries.faults + tries.refusals >= FEWEST:
            self._stop(f"no reply for {silence:.0f} s; the last fault: {message}")
        return max(0.0, self._silence_s - silence)

    @property
    def _silence_s(self) -> float:
        return self._patience.outage_s if self.has_replied else self._patience.start_s

    def _backoff_s(self, attempt: int) -> float:
        # Not by the run's seed: pauses change when a run ends and not how.
        return backoff_s(attempt, self._patience.backoff_s, random.random())
