"""A clock that nearly stands still while the machine sleeps or the process is stopped. It needs no event loop."""

from __future__ import annotations

import time
from collections.abc import Callable

# Most seconds that a `Clock` counts between two readings, unless the process used more CPU time than that. A
# `Heartbeat` reads it every 0.25 s (`BEAT_S`), so no time of a running process is lost.
STEP_S = 1.0
# Seconds between two readings of the process's CPU time.
BUSY_READ_S = 0.1


def world_s() -> float:
    """Return seconds since an arbitrary moment, time asleep included where the system tells (Linux)."""
    # Linux's monotonic clock leaves out sleep: a reply that took all night would seem to have taken a second
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Clock:
    """A clock in seconds, read by a call. While the process is stopped or the machine sleeps, it nearly stands still.

    Between two readings it advances by at most 1 s (STEP_S), or by the CPU time that the process used if that is more.
    """

    def __init__(self, world: Callable[[], float] = world_s, busy: Callable[[], float] = time.process_time) -> None:
        # world: a wall clock in seconds. busy: the CPU seconds of the process, all threads together.
        self.world = world
        self._busy = busy
        self._read_at = self._busy_read_at = world()
        self._busy_s = busy()
        self._lived_s = 0.0

    def __call__(self) -> float:
        """Return the seconds counted since the clock was made: never more than have passed."""
        now, most_s = self.world(), STEP_S
        # The kernel adds it up over all threads (30 µs in a search, and there are a dozen readings a candidate), so it
        # is read once in BUSY_READ_S. A long gap may count that much too much.
        if now - self._busy_read_at >= BUSY_READ_S:
            # Work that keeps the event loop from reading the clock, such as scoring, has to count. Without the CPU time
            # a loop that is held for 10 s at a time would lose 9 of them, and a cap on time would come late.
            busy_s = self._busy()
            most_s = max(STEP_S, busy_s - self._busy_s)
            self._busy_read_at, self._busy_s = now, busy_s
        self._lived_s += min(now - self._read_at, most_s)
        self._read_at = now
        return self._lived_s
