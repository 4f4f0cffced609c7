"""Limit of requests under way: at most the run's connections, and fewer after the endpoint asked to slow down."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime

from behavesim.base.clock import world_s

RECOVERY = 0.25
"""What each success adds to the limit of requests at once after a cut: four successes allow one more."""

LONGEST_BACKOFF_S = 60.0
"""Longest pause in seconds that the limiter chooses, or that an answered request causes.

A longer pause is kept if the endpoint asks for it when it refuses a request.
"""
_SECONDS_IN = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
"""Seconds of each unit in a duration such as 1m30s."""


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
        """Allow `connections` requests at once; `backoff_s` is the longest first pause (s) if a refusal names none.

        `clock` returns seconds, `sleep` waits for seconds, and `jitter` returns a random number from 0 to 1.
        """
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
        """Context around one request: wait until the limit and any pause allow it to start.

        Requests start in the order of asking. Yields the number of cuts so far; pass it to `refused` if the endpoint
        refuses the request.
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
        """Record an answered request, and start no request for the next `wait_s` seconds; 0 means no pause.

        The limit of requests at once rises by RECOVERY, to `connections` at most. The pause is LONGEST_BACKOFF_S at
        most: an endpoint that wants more time refuses the next request and says so.
        """
        self.refusals_in_a_row = 0
        self._allowance = min(self._connections, self._allowance + RECOVERY)
        self._pause(min(LONGEST_BACKOFF_S, wait_s))
        self._changed.set()

    def refused(self, cuts: int, wait_s: float | None) -> float:
        """Record that the endpoint asked to slow down; return the seconds until requests may start again.

        `cuts` is what `slot` yielded to the request: the limit is halved, to at least 1, unless another refusal has cut
        it since. `wait_s` is the pause in seconds that the endpoint asks for. If it is None or 0, a refusal that halves
        the limit starts a pause, longer after each in a row (see the function `backoff_s`), and any other refusal none.
        """
        # A burst of refusals is one message: the requests behind them were sent before anybody could slow down.
        if cuts == self._cuts:
            self._cuts += 1
            self.refusals_in_a_row += 1
            self._allowance = max(1.0, self._allowance / 2)
            if not wait_s:
                wait_s = backoff_s(self.refusals_in_a_row, self._backoff_s, self._jitter())
        self._pause(wait_s or 0.0)
        return max(0.0, self._opens_at - self._clock())

    def _pause(self, seconds: float) -> None:
        """Start no request for the next `seconds`, unless a longer pause is under way."""
        self._opens_at = max(self._opens_at, self._clock() + seconds)

    async def _admission(self) -> None:
        """Wait until no pause holds and fewer requests than the limit are under way."""
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
    """Return the pause in seconds after failed attempt number `attempt` (from 1).

    The full pause is `first_s` after the first attempt and doubles with each, up to LONGEST_BACKOFF_S. `jitter` from 0
    to 1 picks a value between half of it and all of it.
    """
    longest = min(LONGEST_BACKOFF_S, first_s * 2.0 ** min(attempt - 1, 30))
    return longest * (0.5 + 0.5 * jitter)


def retry_after_s(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Return the pause in seconds that a response asks for; None if it asks for none or its Retry-After is unreadable.

    Retry-After-Ms comes first, then Retry-After (seconds or a date, compared with `now` in Unix seconds), then the
    rate-limit headers. The names of `headers` must be in lower case, or their case must not matter.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if name in headers:
            seconds = _number(headers[name], unit)
            return seconds if seconds is not None else _until(headers[name], now())
    return exhausted_for_s(headers) or None


def exhausted_for_s(headers: Mapping[str, str]) -> float:
    """Return the seconds until both requests and tokens are left again, by the rate-limit headers.

    0 if some of both are left now, or if the headers are missing or unreadable.
    """
    pauses = [
        duration_s(headers.get(f"x-ratelimit-reset-{what}", "")) or 0.0
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max(pauses, default=0.0)


def duration_s(text: str) -> float | None:
    """Return the seconds that `6m0s`, `20ms`, `1h2m3.5s` or a plain number mean; None for any other text.

    A negative or infinite number gives None, too.
    """
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
