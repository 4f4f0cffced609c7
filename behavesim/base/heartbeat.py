"""Time limits on an event loop that do not pass while the process is stopped or the machine sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from behavesim.base.clock import Clock, world_s

BEAT_S = 0.25
"""Seconds between two readings of the clock while there is a deadline."""


class Heartbeat(Clock):
    """A clock that the event loop reads as it turns, as long as there is a deadline.

    A deadline passes a whole beat after the clock has reached it. So a process that was stopped first reads what came
    in the meantime, and only then decides that nothing did.
    """

    def __init__(self, world: Callable[[], float] = world_s, beat_s: float = BEAT_S) -> None:
        super().__init__(world)
        self._beat_s = beat_s
        self._deadlines: dict[asyncio.Timeout, float] = {}
        self._beating: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError where the block takes longer, as `asyncio.timeout` does; up to two beats later."""
        async with asyncio.timeout(None) as scope:
            self._deadlines[scope] = self() + seconds
            self._go_on()
            try:
                yield
            finally:
                self._deadlines.pop(scope, None)
                self._rest()

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds by this clock; infinity waits for ever."""
        with suppress(TimeoutError):
            async with self.timeout(seconds):
                await asyncio.get_running_loop().create_future()

    def _go_on(self) -> None:
        if self._beating is None and self._deadlines:
            self._beating = asyncio.get_running_loop().call_later(self._beat_s, self._beat)

    def _rest(self) -> None:
        if self._beating is not None and not self._deadlines:
            self._beating.cancel()
            self._beating = None

    def _beat(self) -> None:
        self._beating = None
        now, grace_ends = self(), asyncio.get_running_loop().time() + self._beat_s
        for scope in [scope for scope, due in self._deadlines.items() if now >= due]:
            del self._deadlines[scope]
            scope.reschedule(grace_ends)
        self._go_on()
