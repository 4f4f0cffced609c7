"""The requests of a session that are under way: how many there are, and how they are waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import OFTEN_S, Sparing
from behavesim.base.text import number

SILENCE_S = 30.0
"""How long nothing comes back before that is said."""


class Spent(Protocol):
    """What a prompt has cost so far."""

    @property
    def spent(self) -> int:
        """Requests that were billed, or may have been."""


class Requests:
    """Counts what is sent and not answered yet; a proposer whose requests may be billed sends each within `one`.

    `tell` is told, once a minute, where nothing comes back: a person would see no more than that nothing happens. By
    `clock`, so that nobody is told so of the time that the machine slept.
    """

    def __init__(self, tell: Callable[[str], None] = lambda text: None, clock: Heartbeat | None = None) -> None:
        self._clock = clock or Heartbeat()
        self._often = Sparing(tell, self._clock)
        self._came_back_at = 0.0
        self._limit_s: float | None = None
        self._listening: asyncio.Task[None] | None = None  # while there is something to wait for
        self._under_way: int | None = None
        self._lost = 0
        self._is_closed = False
        self._settled = asyncio.Event()

    @property
    def under_way(self) -> int | None:
        """How many there are; None where nobody counts them."""
        return self._under_way

    @property
    def unreported(self) -> int | None:
        """How many may be billed and are in no reply: those under way, and those of prompts that had no reply.

        None where nobody counts them.
        """
        return None if self._under_way is None else self._under_way + self._lost

    @contextmanager
    def accounted(self, trials: Spent) -> Iterator[None]:
        """Around all requests for one reply: if none comes about, what was spent on it counts as unreported."""
        try:
            yield
        except BaseException:
            self._lost += trials.spent
            raise

    @asynccontextmanager
    async def one(self, limit_s: float | None = None) -> AsyncIterator[None]:
        """Around one request, given up after so many seconds if after any; once they are being settled it waits for
        good, for whoever cancels it."""
        if self._is_closed:
            await asyncio.get_running_loop().create_future()
        self._limit_s = limit_s
        self._under_way = (self._under_way or 0) + 1
        if self._listening is None:
            self._came_back_at = self._clock()
            self._listening = asyncio.create_task(self._listen())
        try:
            yield
        except asyncio.CancelledError:
            self._lost += 1
            raise
        finally:
            self._came_back_at = self._clock()
            self._under_way -= 1
            if not self._under_way:
                self._listening.cancel()
                self._listening = None
                if self._is_closed:
                    self._settled.set()

    async def _listen(self) -> None:
        """Say so whenever nothing came back for a while."""
        while True:
            silence = self._clock() - self._came_back_at
            if silence >= SILENCE_S:
                waiting = number(self._under_way or 0, "request")
                most = "" if self._limit_s is None else f", each for {self._limit_s:g} s at most"
                self._often("silence", f"nothing came back for {silence:.0f} s; {waiting} under way{most}")
            await self._clock.sleep(SILENCE_S - silence if silence < SILENCE_S else OFTEN_S)

    async def settle(self, within_s: float) -> None:
        """Let no more be sent, and wait until all are answered or given up, but for `within_s` seconds at most."""
        self._is_closed = True
        if self._under_way:
            try:
                await asyncio.wait_for(self._settled.wait(), within_s)
            except TimeoutError:
                return

    def abandon(self) -> None:
        """Wait for none of them any longer."""
        self._settled.set()
