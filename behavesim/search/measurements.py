"""The measurements that decisions wait for, one at a time: off the event loop, but for those that take no time."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any

from behavesim.methods.comparison import Comparison
from behavesim.methods.method import Measurement
from behavesim.search.outcome import comparable
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Event
from behavesim.state.verdict import Failure, Verdict

STATES_AT_ONCE = 1_000
"""States of a program's trajectories that are compared with the template's in less time than a thread is woken."""
COMPARED_AT_ONCE_S = 0.005
"""CPU seconds that the last candidate took to be compared with the archive, if the next is to be without a thread."""

Begin = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
"""Begins a task, and ends the search with what it raises."""


class Measurements:
    """Measures behaviours; what comparing needs is loaded once, before it is needed where there is time."""

    def __init__(self, behaviours: Behaviours, begin: Begin, wake: Callable[[], None]) -> None:
        """`wake` is called where a measurement has been taken, and its decision can be had."""
        self._behaviours = behaviours
        self._begin = begin
        self._wake = wake
        self._warming: asyncio.Task[None] | None = None
        self._begun: tuple[Measurement, asyncio.Task[Event]] | None = None
        self._compared_in_s = math.inf  # the last comparison with the archive, by which the next is known

    @property
    def is_warming(self) -> bool:
        """Whether what comparing needs is still being loaded."""
        return self._warming is not None and not self._warming.done()

    @property
    def is_under_way(self) -> bool:
        """Whether something is being measured: no decision can be had, nor another measurement begun."""
        return self._begun is not None and not self._begun[1].done()

    def warm(self) -> asyncio.Task[None]:
        """Load what comparing needs, once: where there is nothing else to do, or somebody waits for it."""
        if self._warming is None:
            self._warming = self._begin(asyncio.to_thread(self._behaviours.warm))
        return self._warming

    def decision(self, measurement: Measurement) -> Event | None:
        """The decision that a measurement leads to; None where it has only been begun now."""
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] == measurement:
            return begun[1].result()
        if isinstance(measurement, Comparison) and self._compared_in_s < COMPARED_AT_ONCE_S:
            return self._decided(measurement)
        self._begun = measurement, self._begin(self._measured(measurement))
        return None

    async def comparable(self, verdict: Verdict | Failure) -> Verdict | Failure:
        """The verdict, but a failure where the behaviour could not be compared."""
        await asyncio.shield(self.warm())
        if isinstance(verdict, Verdict) and verdict.states > STATES_AT_ONCE:
            return await asyncio.to_thread(comparable, verdict, self._behaviours)
        return comparable(verdict, self._behaviours)

    def cancel(self) -> None:
        """Give up what is being loaded and measured."""
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
