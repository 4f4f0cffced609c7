"""The requests of a session that are under way: how many there are, and how they are waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from behavesim.notices import Sparing
from behavesim.text import number

SILENCE_S = 30.0
"""How long nothing comes back before that is said."""


class Requests:
    """Counts what is sent and not answered yet; a proposer whose requests may be billed sends each within `one`.

    `tell` is told, once a minute, where nothing comes back: a person would see no more than that nothing happens.
    """

    def __init__(self, tell: Callable[[str], None] = lambda text: None) -> None:
        self._often = Sparing(tell, time.monotonic)
        self._came_back_at = time.monotonic()
        self._under_way: int | None = None
        self._is_closed = False
        self._settled = asyncio.Event()

    @property
    def under_way(self) -> int | None:
        """How many there are; None where nobody counts them."""
        return self._under_way

    @asynccontextmanager
    async def one(self, limit_s: float | None = None) -> AsyncIterator[None]:
        """Around one request, given up after so many seconds if after any; once they are being settled it waits for
        good, for whoever cancels it."""
        if self._is_closed:
            await asyncio.get_running_loop().create_future()
        self._under_way = (self._under_way or 0) + 1
        doubt = asyncio.get_running_loop().call_later(SILENCE_S, self._tell_silence, time.monotonic(), limit_s)
        try:
            yield
        finally:
            doubt.cancel()
            self._came_back_at = time.monotonic()
            self._under_way -= 1
            if self._is_closed and not self._under_way:
                self._settled.set()

    def _tell_silence(self, since: float, limit_s: float | None) -> None:
        silence = time.monotonic() - max(since, self._came_back_at)
        if silence > 0.9 * SILENCE_S:  # as of one clock or the other
            waiting = number(self._under_way or 0, "request")
            most = "" if limit_s is None else f", each for {limit_s:g} s at most"
            self._often("silence", f"nothing came back for {silence:.0f} s; {waiting} under way{most}")

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
