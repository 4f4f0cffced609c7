"""How many requests may be under way: never more than the connections, fewer where the endpoint asks for it."""

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
"""How much a success adds to the allowance after a cut: four successes for one more request at a time."""

LONGEST_BACKOFF_S = 60.0
_SECONDS_IN = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class Limiter:
    """One limit for all requests: additive growth, halved by a refusal, closed while the endpoint wants a pause.

    A burst of refusals counts once: only a request that started after the last cut can cause another. A pause is over
    when the endpoint's time says so, which goes on while this process is asleep or stopped.
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
        """`connections` requests at most; `backoff_s` is the first pause where a refusal names none."""
        self._connections = connections
        self._places = asyncio.Semaphore(connections)
        self._allowance = float(connections)
        self._backoff_s = backoff_s
        self._clock, self._sleep, self._jitter = clock, sleep, jitter
        self._in_flight = 0
        self._opens_at = 0.0
        self._cuts = 0
        self._refusals_in_a_row = 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def allowance(self) -> int:
        """How many requests may be under way now: from 1 to the connections."""
        return int(self._allowance)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """A place for one request, given in the order of asking; yields the cuts so far, which `refused` wants back."""
        async with self._places:
            await self._admission()
            self._in_flight += 1
            try:
                yield self._cuts
            finally:
                self._in_flight -= 1
                self._wake()

    def succeeded(self, headers: Mapping[str, str]) -> None:
        """A request was answered: grow a little, and pause where its headers say that nothing is left.

        For a minute at most: an endpoint that means more will say so when it is asked again.
        """
        self._refusals_in_a_row = 0
        self._allowance = min(self._connections, self._allowance + RECOVERY)
        self._pause(min(LONGEST_BACKOFF_S, exhausted_for_s(headers)))
        self._wake()

    def refused(self, cuts: int, wait_s: float | None) -> float:
        """A request that began after so many cuts was told to slow down; returns the pause in seconds.

        Without a word from the endpoint the pause doubles with every cut, jittered between half and all of it.
        """
        if cuts == self._cuts:
            self._cuts += 1
            self._refusals_in_a_row += 1
            self._allowance = max(1.0, self._allowance / 2)
            if not wait_s:
                wait_s = backoff_s(self._refusals_in_a_row, self._backoff_s, self._jitter())
        self._pause(wait_s or 0.0)
        return max(0.0, self._opens_at - self._clock())

    def _pause(self, seconds: float) -> None:
        self._opens_at = max(self._opens_at, self._clock() + seconds)

    async def _admission(self) -> None:
        while True:
            pause = self._opens_at - self._clock()
            if pause > 0:
                await self._sleep(min(pause, LONGEST_BACKOFF_S))  # then look again: the machine may have slept
            elif self._in_flight >= self.allowance:
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(waiter)
                await waiter
            else:
                return

    def _wake(self) -> None:
        """Let everyone look again; they are never more than the connections."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


def backoff_s(attempt: int, first_s: float, jitter: float) -> float:
    """The pause before attempt + 1: doubling from `first_s` up to a minute, between half and all of it (jitter 0…1)."""
    longest = min(LONGEST_BACKOFF_S, first_s * 2.0 ** min(attempt - 1, 30))
    return longest * (0.5 + 0.5 * jitter)


def retry_after_s(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Return the pause in seconds that a response asks for: Retry-After, else rate-limit headers; None without one."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if name in headers:
            seconds = _number(headers[name], unit)
            return seconds if seconds is not None else _until(headers[name], now())
    return exhausted_for_s(headers) or None


def exhausted_for_s(headers: Mapping[str, str]) -> float:
    """Return the seconds until the rate-limit headers allow requests and tokens again; 0 if some are left."""
    pauses = [
        duration_s(headers.get(f"x-ratelimit-reset-{what}", "")) or 0.0
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max(pauses, default=0.0)


def duration_s(text: str) -> float | None:
    """Return the seconds that `6m0s`, `20ms`, `1h2m3.5s` or a plain number mean; None for any other text."""
    if (seconds := _number(text, 1.0)) is not None:
        return seconds
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _SECONDS_IN[unit] for number, unit in parts)


def _number(text: str, unit: float) -> float | None:
    try:
        value = float(text) * unit
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(date: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
