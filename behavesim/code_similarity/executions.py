"""Metrics of what programs return, and of how their variables change while they run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from behavesim.code_similarity.metric import Observed

LONGEST_VALUE = 100
"""Most characters of a value in a trace, pysnooper's default; longer values are cut."""
LONGEST_TRACE = 5_000
"""Number of changes after which a trace ends; a few more may come from the same line."""


@dataclass(frozen=True)
class Results:
    """The metric that is 1 if both programs return equal solutions on every instance, else 0."""

    name: str = "results"

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return 1.0 if the solutions are equal, else 0.0."""
        return float(a.solutions == b.solutions)


@dataclass(frozen=True)
class OfTraces:
    """A metric of texts applied to execution traces: the mean over instances and both directions."""

    name: str
    of_texts: Callable[[str, str], float]

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the similarity of the traces; raises ZeroDivisionError if the programs have none."""
        pairs = list(zip(a.traces, b.traces, strict=True))
        return sum(self.of_texts(x, y) + self.of_texts(y, x) for x, y in pairs) / (2 * len(pairs))


@contextmanager
def traced(filename: str) -> Iterator[list[str]]:
    """Yield a list to which each change of a local variable, in functions of the file, is added as `name = value`.

    Only for trusted programs: they run in this process. A debugger or coverage tool sees nothing in the meantime.
    """
    lines: list[str] = []
    known: dict[int, dict[str, str]] = {}

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
