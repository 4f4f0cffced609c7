"""A clock that nearly stands still while the machine sleeps or the process is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP_S = 1.0
"""Most seconds by which a `Clock` advances between two readings. `Heartbeat` reads it every 0.25 s (`BEAT_S`)."""


def world_s() -> float:
    """Return seconds since an arbitrary moment. On Linux time asleep counts too. Setting the date has no effect."""
    if hasattr(time, "CLOCK_BOOTTIME"):  # Linux; its monotonic clock leaves out sleep, so we would not notice any
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Clock:
    """A clock in seconds, read by a call. While the process is stopped or the machine sleeps, it nearly stands still.

    It advances by at most STEP_S between two readings, so it is right only if it is read at least that often.
    """

    def __init__(self, world: Callable[[], float] = world_s) -> None:
        """`world` returns a time in seconds that also passes during sleep and stops; kept as the attribute `world`."""
        self.world = world
        self._read_at = world()
        self._lived_s = 0.0

    def __call__(self) -> float:
        """Return the seconds counted since the clock was made; between two readings at most STEP_S are counted."""
        now = self.world()
        self._lived_s += min(now - self._read_at, STEP_S)
        self._read_at = now
        return self._lived_s
