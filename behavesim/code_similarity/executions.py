"""Metrics of what programs return and of all that their variables go through."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from behavesim.code_similarity.metric import Observed

LONGEST_VALUE = 100
"""Characters of a value in a trace, as pysnooper shows them by default."""
LONGEST_TRACE = 5_000
"""Changes of variables that a trace holds; the rest is cut off."""


@dataclass(frozen=True)
class Results:
    """1 where both programs return the same on every instance, else 0."""

    name: str = "results"

    def similarity(self, a: Observed, b: Observed) -> float:
        """Whether the solutions are equal."""
        return float(a.solutions == b.solutions)


@dataclass(frozen=True)
class OfTraces:
    """A metric of texts applied to execution traces, the mean over instances and both directions."""

    name: str
    of_texts: Callable[[str, str], float]

    def similarity(self, a: Observed, b: Observed) -> float:
        """How alike the traces are."""
        pairs = list(zip(a.traces, b.traces, strict=True))
        return sum(self.of_texts(x, y) + self.of_texts(y, x) for x, y in pairs) / (2 * len(pairs))


@contextmanager
def traced(filename: str) -> Iterator[list[str]]:
    """Within it, every change of a local variable in functions of that file is added to the list, as `name = value`.

    A debugger that watches as well sees nothing meanwhile. Not for programs nobody trusts: they run in this process.
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
