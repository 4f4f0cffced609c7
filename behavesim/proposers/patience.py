"""Sends prompts until they have a reply: a failed request is repeated, its prompt is given up, or the run stops."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn, TypeVar

from behavesim.base.errors import ProposerError
from behavesim.base.notices import Sparing
from behavesim.base.text import long_time
from behavesim.base.tokens import Usage
from behavesim.programs.answer import interruption
from behavesim.proposers.limiter import Limiter, backoff_s
from behavesim.proposers.proposer import ProposerContext
from behavesim.proposers.secrets import Secrets
from behavesim.state.events import Reply

T = TypeVar("T")

FEWEST = 3
"""Smallest number of failed requests of one prompt before silence stops a run: one late fault proves little."""

REFUSED = Usage(prompt=0, cached=0, completion=0, reasoning=0)
"""Usage of a request that the endpoint refused: no tokens, since no endpoint bills for an error status."""

Meaning = Literal["stop", "slow down", "ask again", "give up"]
"""What follows from a fault: the run stops, all requests pause, this request is repeated, or its prompt is given up."""

VERSION = "/v1"
"""The remedy of asking under /v1: some servers give their URL without it."""


@dataclass(frozen=True)
class Completion:
    """A reply to one request."""

    text: str
    """The reply, or the model's words for refusing one, without secrets; "" if there is neither."""
    finish_reason: str | None
    """Why the reply ended, in the endpoint's words; None if it did not say."""
    usage: Usage
    """The tokens of the request, and the service tier of the answer."""
    wait_s: float = 0.0
    """Seconds until the endpoint takes further requests; 0 if it takes them now, or does not say."""

    @property
    def is_final(self) -> bool:
        """Whether to keep the reply: it has content, or it was refused or cut off; others are asked for again."""
        return bool(self.text.strip()) or interruption(self.finish_reason) is not None


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
    is_setup: bool = False
    """Whether the URL, the command or a setting seems to be wrong. Before the first reply of the session the run then
    stops: at once in place of "give up", after `Patience.setup` faults in place of "ask again"."""
    remedy: str = ""
    """What may help before the request is repeated: to leave out this parameter, or VERSION; "" if nothing is known."""
    is_mended: bool = False
    """Whether the remedy was applied: the request is repeated at once, and the fault does not count."""
    may_be_billed: bool = False
    """Whether the request was sent and no server said what became of it, so that nobody knows whether it is billed."""

    def mended(self) -> Fault:
        """Return the fault of a request that is repeated at once, since its remedy has been applied."""
        return replace(self, meaning="ask again", is_mended=True)


@dataclass(frozen=True)
class Patience:
    """How often and how long failed requests are repeated; fields in `_s` are seconds, the others numbers of times."""

    request_s: float = 300.0
    """Time limit of one request, in seconds."""
    outage_s: float = 600.0
    """The run stops if a request fails this long after the last reply and after its prompt was first asked, but not
    before FEWEST failures of the prompt; so it is with `start_s`."""
    start_s: float = 60.0
    """Before the first reply of this session, the run stops if a request fails this long after its prompt was asked."""
    attempts: int = 12
    """A prompt is given up at this many faults that may pass, if another had a reply since this one was first asked."""
    setup: int = 3
    """Before the first reply, the run stops at this many faults of a prompt if the last hints at a wrong address."""
    empty: int = 3
    """Most times that a prompt is sent again because its reply had no content."""
    backoff_s: float = 1.0
    """Longest first pause before a request is repeated; each later one may be twice as long, up to a minute."""
    pause_s: float = 3600.0
    """The run stops if the endpoint asks for a longer pause than this."""


@dataclass
class Tries:
    """Counts of what has happened so far to the requests of one prompt, or of another thing that is asked for."""

    since: float
    """When the prompt or other thing was first asked for, in seconds by the run's clock."""
    number: int | None = None
    """Number of the candidate, or, for a note, -2 and below (see `note_number`); None if no prompt is sent."""
    model: str = ""
    """The model that is asked; "" if no prompt is sent."""
    sent: str = ""
    """All text of a request, by which tokens are estimated that the endpoint does not count."""
    calls: list[Usage] = field(default_factory=list)
    """Tokens of each request that was answered."""
    unanswered: int = 0
    """Requests without an answer that may be billed all the same."""
    faults: int = 0
    """Requests that failed in a way that may pass, "ask again"; other faults do not count."""
    empty: int = 0
    """Replies without content."""
    batches: int = 0
    """Batches that ended without a reply to the prompt."""

    @property
    def spent(self) -> int:
        """The number of requests so far that were billed or may have been: all but those that took no tokens."""
        return self.unanswered + sum(call.prompt != 0 or call.completion != 0 for call in self.calls)

    def bill(self, result: Completion | Fault) -> None:
        """Count the tokens of one request by its `result`, or that it may be billed without an answer."""
        text = result.text if isinstance(result, Completion) else ""
        if result.usage is not None:
            self.calls.append(result.usage.with_estimates(self.sent, text))
        self.unanswered += isinstance(result, Fault) and result.may_be_billed

    def reply(self, result: Completion | Fault) -> Reply:
        """Return the prompt's reply with the tokens of all its requests; a fault means that the prompt is given up."""
        if isinstance(result, Completion):
            return Reply(result.text, self.model, tuple(self.calls), result.finish_reason, self.unanswered)
        return Reply("", self.model, tuple(self.calls), "given_up", self.unanswered, result.message)


class Perseverance:
    """Sends the requests of a proposer, and decides for all its prompts what follows from a fault.

    After a fault it waits and asks again, gives up one prompt, or stops the run. `sparing(kind, line, lasts_s)` gives a
    notice at most once a minute for each `kind`; one about a much longer pause comes at once. `secrets` are removed
    from all notices and errors.
    """

    def __init__(self, patience: Patience, context: ProposerContext, secrets: Secrets) -> None:
        self.secrets = secrets
        self.sparing = Sparing(self.note, context.clock)
        self._patience, self._tell = patience, context.tell
        self._clock, self._requests = context.clock, context.requests
        self._limiter = Limiter(context.connections, patience.backoff_s, clock=context.clock.world)
        self._replied_at = -math.inf
        self._fatal: str | None = None

    @property
    def has_replied(self) -> bool:
        """Whether any request has succeeded in this session; a reply without content counts, a fault does not."""
        return self._replied_at > -math.inf

    def note(self, line: str) -> None:
        """Give a notice without its secrets, at once and every time."""
        self._tell(self.secrets.scrubbed(line))

    def begin(self, number: int | None = None, model: str = "", sent: str = "") -> Tries:
        """Return new counts for a prompt or other thing first asked for now; the arguments are fields of `Tries`."""
        return Tries(self._clock(), number, model, sent)

    async def reply(self, tries: Tries, ask: Callable[[], Awaitable[Completion | Fault]]) -> Reply:
        """Return the reply to a prompt; `ask` sends one request for it each time it is called.

        A reply without content is asked for again at most `Patience.empty` times. If the prompt is given up, the text
        is "" and `fault` says why. Raises ProposerError if a fault stops the run.
        """

        async def counted() -> Completion | Fault:
            async with self._requests.one(self._patience.request_s):
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
        """Send a request as soon as the limiter allows it; return what it brought or its fault.

        The fault's message is cleared of secrets. After a demand to slow down, which gives a notice, fewer requests are
        sent at once; after each success, more again. Raises ProposerError if a fault has stopped the run.
        """
        async with self._limiter.slot() as cuts:
            if self._fatal is not None:  # another request may have stopped the run while this one waited
                raise ProposerError(self._fatal)
            found = await send()
            if not isinstance(found, Fault):
                self._replied_at = self._clock()
                self._limiter.succeeded(found.wait_s if isinstance(found, Completion) else 0.0)
                return found
            if found.meaning == "slow down":
                # all requests wait for the pause, so that the rest of the window is not refused one by one
                pause = self._limiter.refused(cuts, found.wait_s)
                if pause <= self._patience.pause_s:  # a longer one stops the run
                    self.sparing("pause", f"{found.message}; waiting {pause:.0f} s", pause)
            return replace(found, message=self.secrets.scrubbed(found.message))

    def _after_empty(self, tries: Tries) -> float | None:
        """Count a reply without content; return the seconds to wait before asking again, None to ask no more."""
        tries.empty += 1
        return None if tries.empty > self._patience.empty else self._backoff_s(tries.empty)

    def after_fault(self, tries: Tries, fault: Fault) -> float | None:
        """Return the seconds to wait after a failed request before the prompt is sent again, None if it is given up.

        For "slow down" that is 0: the limiter waits. Raises ProposerError if the run has to stop, by the fault's
        meaning or the limits of `Patience`.
        """
        if fault.is_mended:
            return 0.0
        wait_s, message = fault.wait_s, fault.message
        if wait_s is not None and wait_s > self._patience.pause_s:
            self._stop(f"{message}; resume the run in {long_time(wait_s)}, when the pause is over")
        match fault.meaning:
            case "stop":
                self._stop(message)
            case "give up" if fault.is_setup and not self.has_replied:
                self._stop(message)
            case "give up":
                self._give_up(tries, message)
                return None
            case "slow down":
                # also if the endpoint names a time: one that asks for a second's pause for ever answers nothing either
                self._patience_left_s(tries, message)
                return 0.0
            case "ask again":
                return self._after_failure(tries, fault)

    def _after_failure(self, tries: Tries, fault: Fault) -> float | None:
        """Count a fault that may pass; return the seconds to wait before the next request.

        None if the prompt is given up. Raises ProposerError if the run has to stop by the limits of `Patience`.
        """
        tries.faults += 1
        if fault.is_setup and not self.has_replied and tries.faults >= self._patience.setup:
            self._stop(fault.message)
        left_s = self._patience_left_s(tries, fault.message)
        # a run can go on without one prompt, but not without the files and batches of an endpoint
        is_prompt = tries.number is not None
        if is_prompt and self._replied_at > tries.since and tries.faults >= self._patience.attempts:
            self._give_up(tries, fault.message)
            return None
        until = "" if fault.is_setup else f" until nobody has had a reply for {self._silence_s:g} s"
        self.sparing("fault", f"{fault.message}; asking again{until}")
        # Without this bound a pause that began in time could end long after patience has.
        pause = min(self._backoff_s(tries.faults), left_s + self._patience.backoff_s)
        return max(pause, fault.wait_s or 0.0)

    def _stop(self, message: str) -> NoReturn:
        """Raise ProposerError with the message, without its secrets, now and in each later `once`."""
        self._fatal = self.secrets.scrubbed(message)
        raise ProposerError(self._fatal)

    def _give_up(self, tries: Tries, message: str) -> None:
        """Give a notice, at most once a minute, that the prompt will not be sent again; `message` says why."""
        self.sparing("given-up prompt", f"the prompt of candidate {tries.number} is given up: {message}")

    def _patience_left_s(self, tries: Tries, message: str) -> float:
        """Return the seconds without a reply that are left until the run stops; 0 if none are.

        The time counts from the last reply to any prompt, or from the first request of this prompt if that is later.
        Raises ProposerError if none is left and there were FEWEST faults; `message` is the last one's.
        """
        # A prompt that was asked after a long quiet time has its own patience from then.
        silence = self._clock() - max(tries.since, self._replied_at)
        # refusals of all prompts count, a burst of them once: a prompt may wait long for its turn to be refused
        if silence > self._silence_s and tries.faults + self._limiter.refusals_in_a_row >= FEWEST:
            self._stop(f"no reply for {silence:.0f} s; the last fault: {message}")
        return max(0.0, self._silence_s - silence)

    @property
    def _silence_s(self) -> float:
        """Seconds without any reply after which the run stops."""
        return self._patience.outage_s if self.has_replied else self._patience.start_s

    def _backoff_s(self, attempt: int) -> float:
        """Return the seconds to wait after a failed attempt, counted from 1."""
        # Not by the run's seed: pauses change when a run ends and not how.
        return backoff_s(attempt, self._patience.backoff_s, random.random())
