"""How long a run has been active, over all its sessions."""

from __future__ import annotations

from behavesim.state.events import AFTER_A_PAUSE, ClockRead, Event


class Activity:
    """Adds up the seconds between a run's events as they are read.

    The pauses between sessions do not count, nor does what is done with a run that has stopped. They are no fewer than
    the run's own clock said, which a recovered run has on.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last: float | None = None

    def take(self, at: float, event: Event) -> None:
        """Take in the next event, which was committed at that time."""
        if self._last is not None and not isinstance(event, AFTER_A_PAUSE):
            self.seconds += at - self._last
        self._last = at
        if isinstance(event, ClockRead):
            self.seconds = max(self.seconds, event.active_s)
