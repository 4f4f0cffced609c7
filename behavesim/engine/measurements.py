"""The measurements of behaviour that decisions wait for: one at a time, in a thread unless they are very quick."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any

from behavesim.engine.outcome import with_comparison_checked
from behavesim.methods.comparison import Comparison
from behavesim.methods.method import Measurement
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Event
from behavesim.state.verdict import Failure, Verdict

STATES_AT_ONCE = 1_000
"""Up to this number of states, a comparison with the template is quicker than starting a thread."""
COMPARED_AT_ONCE_S = 0.005
"""If the last comparison with the archive took fewer CPU seconds, the next one runs on the event loop."""

Begin = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
"""Starts a task. If the task raises, the search ends with that error."""


class Measurements:
    """Measures behaviours for decisions. The kernels for comparisons are loaded once, early if the loop is idle."""

    def __init__(self, behaviours: Behaviours, begin: Begin, wake: Callable[[], None]) -> None:
        """`wake` is called when a measurement has ended, so that its decision can be taken with `decision`."""
        self._behaviours = behaviours
        self._begin = begin
        self._wake = wake
        self._warming: asyncio.Task[None] | None = None
        self._begun: tuple[Measurement, asyncio.Task[Event]] | None = None
        self._compared_in_s = math.inf  # CPU seconds of the last comparison with the archive

    @property
    def is_warming(self) -> bool:
        """Whether the kernels for comparisons are still being loaded."""
        return self._warming is not None and not self._warming.done()

    @property
    def is_under_way(self) -> bool:
        """Whether a measurement is running: until it ends, no decision is taken and no other measurement is begun."""
        return self._begun is not None and not self._begun[1].done()

    def warm(self) -> asyncio.Task[None]:
        """Return the task that loads the kernels for comparisons; the first call starts it."""
        if self._warming is None:
            self._warming = self._begin(asyncio.to_thread(self._behaviours.warm))
        return self._warming

    def decision(self, measurement: Measurement) -> Event | None:
        """Return the decision that follows from a measurement, or begin the measurement and return None.

        Call it again with an equal measurement after `wake`; then it returns the decision. A quick comparison is
        decided in the first call.
        """
        begun, self._begun = self._begun, None  # what was begun for an unequal measurement is dropped
        if begun is not None and begun[0] == measurement:
            return begun[1].result()
        if isinstance(measurement, Comparison) and self._compared_in_s < COMPARED_AT_ONCE_S:
            return self._decided(measurement)
        self._begun = measurement, self._begin(self._measured(measurement))
        return None

    async def with_comparison_checked(self, verdict: Verdict | Failure) -> Verdict | Failure:
        """Return the verdict, or a failure if its behaviour cannot be compared; see `outcome`."""
        await asyncio.shield(self.warm())
        if isinstance(verdict, Verdict) and verdict.states > STATES_AT_ONCE:
            return await asyncio.to_thread(with_comparison_checked, verdict, self._behaviours)
        return with_comparison_checked(verdict, self._behaviours)

    def cancel(self) -> None:
        """Cancel the loading and the measurement that are running, if any."""
        for task in (self._warming, self._begun and self._begun[1]):
            if task is not None:
                task.cancel()

    async def _measured(self, measurement: Measurement) -> Event:
        try:
            await self.warm()
            return await asyncio.to_thread(self._decided, measurement)
        finally:
            self._wake()

    def _decided(self, measurement: Measurement) -> Event:
        begun = time.thread_time()
        decision = measurement.decide(self._behaviours)
        if isinstance(measurement, Comparison):
            self._compared_in_s = time.thread_time() - begun
        return decision
