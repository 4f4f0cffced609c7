"""The requests of a session that are under way: how many there are, and how they are waited for when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Requests:
    """Counts what is sent and not answered yet; a proposer whose requests may be billed sends each within `one`."""

    def __init__(self) -> None:
        self._under_way: int | None = None
        self._is_closed = False
        self._settled = asyncio.Event()

    @property
    def under_way(self) -> int | None:
        """How many there are; None where nobody counts them."""
        return self._under_way

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Around one request; once they are being settled it waits for good, for whoever cancels it."""
        if self._is_closed:
            await asyncio.get_running_loop().create_future()
        self._under_way = (self._under_way or 0) + 1
        try:
            yield
        finally:
            self._under_way -= 1
            if self._is_closed and not self._under_way:
                self._settled.set()

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
