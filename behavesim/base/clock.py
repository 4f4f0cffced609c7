"""A clock that nearly stands still while the machine sleeps or the process is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

# Most seconds between two readings that a `Clock` counts without proof that the process was running. A `Heartbeat`
# reads it every 0.25 s (`BEAT_S`).
STEP_S = 1.0


def world_s() -> float:
    """Return seconds since an arbitrary moment. On Linux time asleep counts too. Setting the date has no effect."""
    if hasattr(time, "CLOCK_BOOTTIME"):  # Linux; its monotonic clock leaves out sleep, so we would not notice any
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Clock:
    """A clock in seconds, read by a call. While the process is stopped or the machine sleeps, it nearly stands still.

    Of a time between two readings it counts STEP_S, or the CPU seconds that the process took if that is more: work that
    keeps the event loop from reading the clock counts, as scoring does.
    """

    def __init__(self, world: Callable[[], float] = world_s, busy: Callable[[], float] = time.process_time) -> None:
        """`world`: a wall clock in seconds. `busy`: the CPU seconds of the process, all threads together."""
        self.world = world
        self._busy = busy
        self._read_at, self._busy_at = world(), busy()
        self._lived_s = 0.0

    def __call__(self) -> float:
        """Return the seconds counted since the clock was made, which never are more than have passed."""
        now, busy_s = self.world(), self._busy()
        # without the CPU time, a loop that is held for 10 s at a time would lose 9 of them, and a cap on time with them
        self._lived_s += min(now - self._read_at, max(STEP_S, busy_s - self._busy_at))
        self._read_at, self._busy_at = now, busy_s
        return self._lived_s
