"""The measurements of behaviour that decisions and verdicts wait for. They run in threads, so the loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from behavesim.engine.outcome import with_comparison_checked
from behavesim.methods.method import Measurement
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Event
from behavesim.task.verdict import Failure, Verdict

Begin = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
"""Starts a task. If the task raises, the search ends with that error."""


class Measurements:
    """Measures behaviours, one measurement at a time, and checks verdicts meanwhile; loads the kernels once."""

    def __init__(self, behaviours: Behaviours, begin: Begin) -> None:
        self._behaviours = behaviours
        self._begin = begin
        self._warming: asyncio.Task[None] | None = None
        self._last: tuple[Measurement, asyncio.Task[Event]] | None = None  # until its decision is taken

    @property
    def is_measuring(self) -> bool:
        """Whether the measurement begun last is still under way."""
        return self._last is not None and not self._last[1].done()

    @property
    def is_warming(self) -> bool:
        """Whether the kernels for comparisons are being loaded at this moment."""
        return self._warming is not None and not self._warming.done()

    def warm(self) -> asyncio.Task[None]:
        """Return the task that loads the kernels for comparisons; the first call starts it."""
        if self._warming is None:
            self._warming = self._begin(asyncio.to_thread(self._behaviours.warm))
        return self._warming

    def decision(self, measurement: Measurement) -> Event | None:
        """Return the decision that follows from a measurement, if the last call began it; else begin it, return None.

        Call this only while nothing is measured. Raises what the measurement's `decide` raised.
        """
        last, self._last = self._last, None
        if last is not None and last[0] == measurement:
            return last[1].result()
        self._last = measurement, self._begin(self._decide(measurement))
        return None

    async def checked(self, verdict: Verdict | Failure) -> Verdict | Failure:
        """Return the verdict, or Failure "incomparable" if its trajectories cannot be compared with the template's.

        A verdict that is a Failure already is returned as it is.
        """
        await self.warm()
        return await asyncio.to_thread(with_comparison_checked, verdict, self._behaviours)

    async def _decide(self, measurement: Measurement) -> Event:
        await self.warm()
        return await asyncio.to_thread(measurement.decide, self._behaviours)
