"""Time during which this process could run: sleep of the machine and stops of the process do not count."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP_S = 1.0
"""Most seconds that count between two readings; more means that the process could not run."""


def world_s() -> float:
    """Return seconds since an arbitrary moment, sleep of the machine included; setting the wall clock has no effect."""
    if hasattr(time, "CLOCK_BOOTTIME"):  # Linux; its monotonic clock leaves out sleep, so we would not notice any
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Clock:
    """Seconds during which this process could run; the clock stands still while it is stopped or the machine sleeps.

    Of the time between two readings at most STEP_S counts, so it runs only as long as somebody reads it more often.
    `world` is the time outside, which goes on: for what other machines do meanwhile, such as ending a pause.
    """

    def __init__(self, world: Callable[[], float] = world_s) -> None:
        self.world = world
        self._read_at = world()
        self._lived_s = 0.0

    def __call__(self) -> float:
        """Return the seconds so far; never less than at the last reading."""
        now = self.world()
        self._lived_s += min(now - self._read_at, STEP_S)
        self._read_at = now
        return self._lived_s
