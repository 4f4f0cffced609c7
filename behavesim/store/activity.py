"""How long a run has been active, over all its sessions."""

from __future__ import annotations

from behavesim.state.events import AFTER_A_PAUSE, ClockRead, Event


class Activity:
    """Adds up the seconds between a run's events, which `take` is given in order.

    Pauses between sessions do not count. Neither does the time before an event that was added to a stopped run.
    `seconds` is never less than the last reading of the run's own clock: a recovered run continues from that reading.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last: float | None = None

    def take(self, at: float, event: Event) -> None:
        """Add the time since the previous event; `at` is the time of the commit, in seconds since 1970."""
        if self._last is not None and not isinstance(event, AFTER_A_PAUSE):
            self.seconds += at - self._last
        self._last = at
        if isinstance(event, ClockRead):
            self.seconds = max(self.seconds, event.active_s)
