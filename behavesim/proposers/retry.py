"""Requests that fail: what follows from a fault, how many requests run at once, and which pauses endpoints ask for."""

from __future__ import annotations

import asyncio
import math
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Literal, NoReturn, TypeVar

from behavesim.base.clock import world_s
from behavesim.base.errors import ProposerError
from behavesim.base.notices import Sparing
from behavesim.base.text import long_time
from behavesim.base.tokens import Usage
from behavesim.programs.answer import interruption
from behavesim.proposers.proposer import ProposerContext
from behavesim.proposers.secrets import Secrets
from behavesim.state.events import Reply, note_number

# Smallest number of failed requests of one prompt before silence stops a run: one late fault proves little.
FEWEST = 3

# Usage of a request that the endpoint refused: no tokens, since no endpoint bills for an error status.
REFUSED = Usage(prompt=0, cached=0, completion=0, reasoning=0)

# What follows from a fault: the run stops, all requests pause, this request is repeated, or its prompt is given up.
FaultAction = Literal["stop", "slow down", "ask again", "give up"]

# The remedy of asking under /v1: some servers give their URL without it.
VERSION = "/v1"

T = TypeVar("T")


@dataclass(frozen=True)
class Completion:
    """A reply to one request."""

    # The reply, or the model's words for refusing one, without secrets; "" if there is neither.
    text: str
    # Why the reply ended, in the endpoint's words; None if it did not say.
    finish_reason: str | None
    # The tokens of the request, and the service tier of the answer.
    usage: Usage
    # Seconds until the endpoint takes further requests; 0 if it takes them now, or does not say.
    wait_s: float = 0.0

    @property
    def is_final(self) -> bool:
        """Whether to keep the reply: it has content, or it was refused or cut off; others are asked for again."""
        return bool(self.text.strip()) or interruption(self.finish_reason) is not None


@dataclass(frozen=True)
class Fault:
    """Why a request gave no reply."""

    # What the proposer does after it.
    action: FaultAction
    # What happened and what to do, for a person.
    message: str
    # The tokens of the request; None if there was no answer at all.
    usage: Usage | None = REFUSED
    # Seconds that the endpoint asks to wait before the next request; None if it names no time.
    wait_s: float | None = None
    # Whether the URL, the command or a setting seems to be wrong. Before the first reply of the session the run then
    # stops: at once in place of "give up", after `RetryLimits.setup` faults in place of "ask again".
    is_setup: bool = False
    # What may help before the request is repeated: to leave out this parameter, or VERSION; "" if nothing is known.
    remedy: str = ""
    # Whether the remedy was applied: the request is repeated at once, and the fault does not count.
    is_mended: bool = False
    # Whether the request was sent and no server said what became of it, so that nobody knows whether it is billed.
    may_be_billed: bool = False

    def mended(self) -> Fault:
        """Return the fault of a request that is repeated at once, since its remedy has been applied."""
        return replace(self, action="ask again", is_mended=True)


@dataclass(frozen=True)
class RetryLimits:
    """How often and how long failed requests are repeated; fields in `_s` are seconds, the others numbers of times."""

    # Time limit of one request, in seconds.
    request_s: float = 300.0
    # The run stops if a request fails this long after the last reply and after its prompt was first asked, but not
    # before FEWEST failures of the prompt; so it is with `start_s`.
    outage_s: float = 600.0
    # Before the first reply of this session, the run stops if a request fails this long after its prompt was asked.
    start_s: float = 60.0
    # A prompt is given up at this many faults that may pass, if another had a reply since this one was first asked.
    attempts: int = 12
    # Before the first reply, the run stops at this many faults of a prompt if the last hints at a wrong address.
    setup: int = 3
    # Most times that a prompt is sent again because its reply had no content.
    empty: int = 3
    # Longest first pause before a request is repeated; each later one may be twice as long, up to a minute.
    backoff_s: float = 1.0
    # The run stops if the endpoint asks for a longer pause than this.
    pause_s: float = 3600.0


@dataclass
class PromptAttempts:
    """Counts of what has happened so far to the requests of one prompt, or of another thing that is asked for."""

    # When the prompt or other thing was first asked for, in seconds by the run's clock.
    since: float
    # Number of the candidate, or, for a note, -2 and below (see `note_number`); None if no prompt is sent.
    number: int | None = None
    # The model that is asked; "" if no prompt is sent.
    model: str = ""
    # All text of a request, by which tokens are estimated that the endpoint does not count.
    sent: str = ""
    # Tokens of each request that was answered.
    calls: list[Usage] = field(default_factory=list)
    # Requests without an answer that may be billed all the same.
    unanswered: int = 0
    # Requests that failed in a way that may pass, "ask again"; other faults do not count.
    faults: int = 0
    # Replies without content.
    empty: int = 0
    # Batches that ended without a reply to the prompt.
    batches: int = 0

    @property
    def spent(self) -> int:
        """The number of requests so far that were billed or may have been: all but those that took no tokens."""
        return self.unanswered + sum(call.prompt != 0 or call.completion != 0 for call in self.calls)

    def bill(self, result: Completion | Fault) -> None:
        """Count the tokens of one request, or that it may be billed without an answer."""
        text = result.text if isinstance(result, Completion) else ""
        if result.usage is not None:
            self.calls.append(result.usage.with_estimates(self.sent, text))
        self.unanswered += isinstance(result, Fault) and result.may_be_billed

    def reply(self, result: Completion | Fault) -> Reply:
        """Return the prompt's reply with the tokens of all its requests; a fault means that the prompt is given up."""
        if isinstance(result, Completion):
            return Reply(result.text, self.model, tuple(self.calls), result.finish_reason, self.unanswered)
        return Reply("", self.model, tuple(self.calls), "given_up", self.unanswered, result.message)


class RetryPolicy:
    """Sends the requests of a proposer, and decides for all its prompts what follows from a fault.

    `note_once_a_minute(kind, line, lasts_s)` gives a notice at most once a minute for each `kind`, but at once about a
    much longer pause. `secrets` are removed from all notices and errors.
    """

    def __init__(self, limits: RetryLimits, context: ProposerContext, secrets: Secrets) -> None:
        self.secrets = secrets
        self.note_once_a_minute = Sparing(self.note, context.clock)
        self._limits, self._tell = limits, context.tell
        self._clock, self._requests = context.clock, context.requests
        self._limiter = Limiter(context.connections, limits.backoff_s, clock=context.clock.world)
        self._replied_at = -math.inf
        self._fatal: str | None = None

    @property
    def has_replied(self) -> bool:
        """Whether any request has succeeded in this session; a reply without content counts, a fault does not."""
        return self._replied_at > -math.inf

    def note(self, line: str) -> None:
        """Give a notice without its secrets, at once and every time."""
        self._tell(self.secrets.scrubbed(line))

    def begin(self, number: int | None = None, model: str = "", sent: str = "") -> PromptAttempts:
        """Return new counts for a prompt, or another thing, that is first asked for now."""
        return PromptAttempts(self._clock(), number, model, sent)

    async def reply(self, tries: PromptAttempts, ask: Callable[[], Awaitable[Completion | Fault]]) -> Reply:
        """Return the reply to a prompt; `ask` sends one request for it each time it is called.

        The text is "" and `fault` says why if the prompt is given up. Raises ProposerError if a fault stops the run.
        """

        async def counted() -> Completion | Fault:
            async with self._requests.one(self._limits.request_s):
                return await ask()

        with self._requests.accounted(lambda: tries.spent):
            while True:
                result = await self.once(counted)
                tries.bill(result)
                if isinstance(result, Fault):
                    pause = self.after_fault(tries, result)
                else:
                    pause = None if result.is_final else self._after_empty(tries)
                if pause is None:
                    return tries.reply(result)
                await asyncio.sleep(pause)

    async def once(self, send: Callable[[], Awaitable[T | Fault]]) -> T | Fault:
        """Send a request as soon as the limiter allows it; return what it brought, or its fault without secrets.

        Raises ProposerError if a fault has stopped the run.
        """
        async with self._limiter.slot() as cuts:
            if self._fatal is not None:  # another request may have stopped the run while this one waited
                raise ProposerError(self._fatal)
            found = await send()
            if not isinstance(found, Fault):
                self._replied_at = self._clock()
                self._limiter.succeeded(found.wait_s if isinstance(found, Completion) else 0.0)
                return found
            if found.action == "slow down":
                # all requests wait for the pause, so that the rest of the window is not refused one by one
                pause = self._limiter.refused(cuts, found.wait_s)
                if pause <= self._limits.pause_s:  # a longer one stops the run
                    self.note_once_a_minute("pause", f"{found.message}; waiting {pause:.0f} s", pause)
            return replace(found, message=self.secrets.scrubbed(found.message))

    def _after_empty(self, tries: PromptAttempts) -> float | None:
        tries.empty += 1
        return None if tries.empty > self._limits.empty else self._backoff_s(tries.empty)

    def after_fault(self, tries: PromptAttempts, fault: Fault) -> float | None:
        """Return the seconds to wait before the prompt is sent again, None if it is given up.

        Raises ProposerError if the run has to stop, by the fault's action or by RetryLimits.
        """
        if fault.is_mended:
            return 0.0
        wait_s, message = fault.wait_s, fault.message
        if wait_s is not None and wait_s > self._limits.pause_s:
            self._stop(f"{message}; resume the run in {long_time(wait_s)}, when the pause is over")
        match fault.action:
            case "stop":
                self._stop(message)
            case "give up" if fault.is_setup and not self.has_replied:
                self._stop(message)
            case "give up":
                self._give_up(tries, message)
                return None
            case "slow down":
                # also if the endpoint names a time: one that asks for a second's pause for ever answers nothing either
                self._silence_left_s(tries, message)
                return 0.0
            case "ask again":
                return self._after_failure(tries, fault)

    def _after_failure(self, tries: PromptAttempts, fault: Fault) -> float | None:
        tries.faults += 1
        if fault.is_setup and not self.has_replied and tries.faults >= self._limits.setup:
            self._stop(fault.message)
        left_s = self._silence_left_s(tries, fault.message)
        # a run can go on without one prompt, but not without the files and batches of an endpoint
        is_prompt = tries.number is not None
        if is_prompt and self._replied_at > tries.since and tries.faults >= self._limits.attempts:
            self._give_up(tries, fault.message)
            return None
        until = "" if fault.is_setup else f" until nobody has had a reply for {self._silence_s:g} s"
        self.note_once_a_minute("fault", f"{fault.message}; asking again{until}")
        # Without this bound a pause that began in time could end long after the run should have stopped.
        pause = min(self._backoff_s(tries.faults), left_s + self._limits.backoff_s)
        return max(pause, fault.wait_s or 0.0)

    def _stop(self, message: str) -> NoReturn:
        """Raise ProposerError, now and in each later `once`: requests that still wait must not be sent."""
        self._fatal = self.secrets.scrubbed(message)
        raise ProposerError(self._fatal)

    def _give_up(self, tries: PromptAttempts, message: str) -> None:
        assert tries.number is not None, "files and batches are not given up"
        asked = f"candidate {tries.number}" if tries.number >= 0 else f"note {note_number(tries.number)}"
        self.note_once_a_minute("given-up prompt", f"the prompt of {asked} is given up: {message}")

    def _silence_left_s(self, tries: PromptAttempts, message: str) -> float:
        """Return the seconds without a reply that are left; stop the run if none are."""
        # The time counts from the last reply to any prompt, or from the first request of this prompt if that is later.
        # A prompt that was asked after a long quiet time has all of it from then.
        silence = self._clock() - max(tries.since, self._replied_at)
        # refusals of all prompts count, a burst of them once: a prompt may wait long for its turn to be refused
        if silence > self._silence_s and tries.faults + self._limiter.refusals_in_a_row >= FEWEST:
            self._stop(f"no reply for {silence:.0f} s; the last fault: {message}")
        return max(0.0, self._silence_s - silence)

    @property
    def _silence_s(self) -> float:
        return self._limits.outage_s if self.has_replied else self._limits.start_s

    def _backoff_s(self, attempt: int) -> float:
        # Not by the run's seed: pauses change when a run ends and not how.
        return backoff_s(attempt, self._limits.backoff_s, random.random())


# What each success adds to the limit of requests at once after a cut: four successes allow one more.
RECOVERY = 0.25

# Longest pause (s) that the limiter chooses, or that an answered request causes. An endpoint that refuses a request may
# ask for a longer one.
LONGEST_BACKOFF_S = 60.0


class Limiter:
    """Limits how many requests run at once: a refusal halves the limit, each success raises it by RECOVERY.

    No request starts during a pause. A burst of refusals halves the limit once: only a request that started after the
    last cut can cause another. Pauses are measured by `clock`, which by default also counts time asleep or stopped.
    """

    def __init__(
        self,
        connections: int,
        backoff_s: float = 1.0,
        *,
        clock: Callable[[], float] = world_s,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`backoff_s` is the longest first pause (s) if a refusal names none; `jitter` returns a number from 0 to 1."""
        self._connections = connections
        self._places = asyncio.Semaphore(connections)
        self._allowance = float(connections)
        self._backoff_s = backoff_s
        self._clock, self._sleep, self._jitter = clock, sleep, jitter
        self._in_flight = 0
        self._opens_at = 0.0  # in seconds of `clock`: no request starts before
        self._cuts = 0
        self.refusals_in_a_row = 0  # since the last success; a burst counts once
        self._changed = asyncio.Event()

    @property
    def allowance(self) -> int:
        """The largest number of requests that may be under way at once now: from 1 to `connections`."""
        return int(self._allowance)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Context around one request, which starts when the limit and any pause allow it, in the order of asking.

        Yields the number of cuts so far, for `refused`.
        """
        # The semaphore keeps the order of asking, and keeps all but `connections` requests out of the loop below.
        async with self._places:
            await self._admission()
            self._in_flight += 1
            try:
                yield self._cuts
            finally:
                self._in_flight -= 1
                self._changed.set()

    def succeeded(self, wait_s: float = 0.0) -> None:
        """Record an answered request: the limit rises by RECOVERY, and no request starts for `wait_s` seconds."""
        self.refusals_in_a_row = 0
        self._allowance = min(self._connections, self._allowance + RECOVERY)
        # bounded: an endpoint that wants more time refuses the next request and says so
        self._pause(min(LONGEST_BACKOFF_S, wait_s))
        self._changed.set()

    def refused(self, cuts: int, wait_s: float | None) -> float:
        """Record that the endpoint asked to slow down; return the seconds until requests may start again.

        `cuts` is what `slot` yielded to the request. `wait_s` is the pause in seconds that the endpoint asks for; None
        or 0 if it names none.
        """
        # A burst of refusals is one message: the requests behind them were sent before anybody could slow down.
        if cuts == self._cuts:
            self._cuts += 1
            self.refusals_in_a_row += 1
            self._allowance = max(1.0, self._allowance / 2)  # with 0 no request could show that the endpoint is well
            if not wait_s:
                wait_s = backoff_s(self.refusals_in_a_row, self._backoff_s, self._jitter())
        self._pause(wait_s or 0.0)
        return max(0.0, self._opens_at - self._clock())

    def _pause(self, seconds: float) -> None:
        self._opens_at = max(self._opens_at, self._clock() + seconds)

    async def _admission(self) -> None:
        # in a loop: by the time that one wait is over, another refusal may have begun a pause or halved the limit
        while True:
            pause = self._opens_at - self._clock()
            if pause > 0:
                await self._sleep(min(pause, LONGEST_BACKOFF_S))  # then look again: the machine may have slept
            elif self._in_flight >= self.allowance:
                self._changed.clear()
                await self._changed.wait()  # all that wait look again, in their order: at most `connections`
            else:
                return


def backoff_s(attempt: int, first_s: float, jitter: float) -> float:
    """Return the pause in seconds after failed attempt number `attempt`, counted from 1.

    It is `first_s` after the first and doubles with each, up to LONGEST_BACKOFF_S; `jitter` from 0 to 1 leaves half of
    it to all of it.
    """
    # the jitter keeps requests that failed together from coming back together; 2**30 is bounded, or floats overflow
    longest = min(LONGEST_BACKOFF_S, first_s * 2.0 ** min(attempt - 1, 30))
    return longest * (0.5 + 0.5 * jitter)


# Seconds of each unit in a duration such as 1m30s.
_SECONDS_IN = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def retry_after_s(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Return the pause in seconds that a response asks for; None if it asks for none or Retry-After is unreadable.

    `now` returns Unix seconds. The names of `headers` are in lower case, or their case does not matter.
    """
    # the most exact first: a Retry-After in whole seconds may be rounded up from half of one
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if name in headers:
            seconds = _number(headers[name], unit)
            return seconds if seconds is not None else _until(headers[name], now())
    return seconds_until_refill(headers) or None


def seconds_until_refill(headers: Mapping[str, str]) -> float:
    """Return the seconds until requests and tokens are left again, by the rate-limit headers; 0 if some are left."""
    pauses = [
        duration_s(headers.get(f"x-ratelimit-reset-{what}", "")) or 0.0
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max(pauses, default=0.0)


def duration_s(text: str) -> float | None:
    """Return the seconds that `6m0s`, `20ms`, `1h2m3.5s` or a plain number mean; None for anything else or below 0."""
    if (seconds := _number(text, 1.0)) is not None:
        return seconds
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _SECONDS_IN[unit] for number, unit in parts)


def _number(text: str, unit: float) -> float | None:
    """Return the number in a text times `unit`; None if it is no number, negative, infinite or NaN."""
    try:
        value = float(text) * unit
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(date: str, now: float) -> float | None:
    """Return the seconds from `now` (Unix seconds) to an HTTP date, 0 if it has passed; None if it is no date."""
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
