"""Time as this process has lived it: what it was asleep or stopped for does not count."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP_S = 1.0
"""The longest step the clock makes from one reading to the next."""


def world_s() -> float:
    """Seconds since an arbitrary moment by a clock that nobody sets, those of a sleeping machine included."""
    if hasattr(time, "CLOCK_BOOTTIME"):  # Linux; its monotonic clock leaves out sleep, so we would not notice any
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Clock:
    """Seconds in which this process could look; they stand still while the machine sleeps or the process is stopped.

    Of the time between two readings at most STEP_S counts, so it runs only as long as somebody reads it more often.
    `world` is the time outside, which goes on: for what other machines do meanwhile, such as ending a pause.
    """

    def __init__(self, world: Callable[[], float] = world_s) -> None:
        self.world = world
        self._read_at = world()
        self._lived_s = 0.0

    def __call__(self) -> float:
        """Seconds lived so far; never less than at the last reading."""
        now = self.world()
        self._lived_s += min(now - self._read_at, STEP_S)
        self._read_at = now
        return self._lived_s
