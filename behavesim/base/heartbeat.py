"""Time on an event loop: deadlines that leave out time in which the process was stopped, and work run to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from behavesim.base.clock import Clock, world_s

# Seconds between two readings of the clock while there is a deadline; well below `STEP_S`, so that no time is lost.
BEAT_S = 0.25


class Heartbeat(Clock):
    """A clock that the event loop reads every `beat_s` seconds as long as there is a deadline.

    A deadline passes one beat after a reading has reached it. So a process that was stopped first handles what arrived
    in the meantime, and only then decides that nothing did.
    """

    def __init__(
        self,
        world: Callable[[], float] = world_s,
        beat_s: float = BEAT_S,
        busy: Callable[[], float] = time.process_time,
    ) -> None:
        super().__init__(world, busy)
        self._beat_s = beat_s
        self._deadlines: dict[asyncio.Timeout, float] = {}
        self._beating: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        """Raise TimeoutError if the block takes longer than `seconds` of this clock, up to 0.5 s late."""
        async with asyncio.timeout(None) as scope:  # `_beat` sets its time
            self._deadlines[scope] = self() + seconds
            self._go_on()
            try:
                yield
            finally:
                self._deadlines.pop(scope, None)
                if self._beating is not None and not self._deadlines:
                    self._beating.cancel()
                    self._beating = None

    async def sleep(self, seconds: float) -> None:
        """Wait until this clock has advanced by `seconds`, up to 0.5 s longer; infinity waits without end."""
        with suppress(TimeoutError):
            async with self.timeout(seconds):
                await asyncio.get_running_loop().create_future()

    def _go_on(self) -> None:
        if self._beating is None and self._deadlines:
            self._beating = asyncio.get_running_loop().call_later(self._beat_s, self._beat)

    def _beat(self) -> None:
        """Read the clock, and let the deadlines that it has reached pass one beat from now."""
        self._beating = None
        now, grace_ends = self(), asyncio.get_running_loop().time() + self._beat_s
        for scope in [scope for scope, due in self._deadlines.items() if now >= due]:
            # Not at once: what arrived while the process was stopped is handled in this turn of the loop. Else a
            # process that slept would give up replies that wait in its sockets, and pay for them twice.
            del self._deadlines[scope]
            scope.reschedule(grace_ends)
        self._go_on()


T = TypeVar("T")


async def await_finished(work: Awaitable[T]) -> T:
    """Return the result of `work`; a cancellation of the caller is raised only after `work` has ended."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError as cancelled:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        # from the work's own error: a caller that handles that, and goes on, must not lose the cancellation
        raise cancelled from (None if task.cancelled() else task.exception())
