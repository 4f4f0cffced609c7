"""Metrics of what programs return and do, and the tracing of their executions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from behavesim.code_similarity.metric import Observed
from behavesim.similarity import BehaveSim

LONGEST_VALUE = 100
"""Most characters of a value in a trace, pysnooper's default; longer values are cut."""
LONGEST_TRACE = 5_000
"""Number of changes after which a trace ends; a few more may come from the same line."""


@dataclass(frozen=True)
class Results:
    """The metric that is 1 if two programs' solutions are equal on every instance, else 0."""

    name: str = "results"

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return 1.0 if the recorded solutions are equal (also if both are empty), else 0.0."""
        return float(a.solutions == b.solutions)


@dataclass(frozen=True)
class OfBehaviour:
    """The metric that is the mean over instances of BehaveSim; `measures` has the measure for each instance."""

    measures: Sequence[BehaveSim]
    name: str = "behavesim"

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the mean similarity of the trajectories, in [0, 1] if the measures clip.

        Raises TrajectoryError if two trajectories cannot be compared, ValueError if a program does not have one for
        each of the measures, ZeroDivisionError if there are no measures.
        """
        runs = zip(self.measures, a.trajectories, b.trajectories, strict=True)
        return sum(measure.similarity(x, y) for measure, x, y in runs) / len(self.measures)


@contextmanager
def traced(filename: str) -> Iterator[list[str]]:
    """Yield a list to which changes of local variables, in functions of the file, are added as `name = value`.

    `filename` is the one that the functions' code objects have. Callables are left out, values are cut after
    LONGEST_VALUE characters, and after LONGEST_TRACE changes no more are added. Only for trusted programs, which run in
    this process. A debugger or coverage tool sees nothing in the meantime.
    """
    lines: list[str] = []
    known: dict[int, dict[str, str]] = {}  # the variables of each call that has not returned, as text

    def watch(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != filename:
            return None
        before = known.setdefault(id(frame), {})
        now = {name: repr(value)[:LONGEST_VALUE] for name, value in frame.f_locals.items() if not callable(value)}
        if len(lines) < LONGEST_TRACE:
            lines.extend(f"{name} = {text}" for name, text in now.items() if before.get(name) != text)
        known[id(frame)] = now
        if event == "return":
            del known[id(frame)]
        return watch

    previous = sys.gettrace()
    sys.settrace(watch)
    try:
        yield lines
    finally:
        sys.settrace(previous)
