"""What every metric of similarity offers, and what it may look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from behavesim.trajectory import AlgorithmRun


@dataclass(frozen=True)
class Observed:
    """A program, and what was observed of it on each instance; what nobody observed is empty."""

    source: str
    solutions: tuple[Any, ...] = ()
    trajectories: tuple[AlgorithmRun, ...] = ()
    traces: tuple[str, ...] = ()
    """The values of variables as they changed, line by line."""


class Similarity(Protocol):
    """A metric of how alike two programs are: `similarity(a, b)` is in [0, 1], symmetric, and 1 for equal programs."""

    @property
    def name(self) -> str:
        """What it is called in commands and documents, such as "codebleu"."""

    def similarity(self, a: Observed, b: Observed) -> float:
        """How alike the two are; raises BehavesimError where that cannot be known."""


@dataclass(frozen=True)
class OfSource:
    """A metric of texts as a metric of programs: the mean of both directions, where it has a direction."""

    name: str
    of_texts: Callable[[str, str], float]
    is_symmetric: bool = True

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return how alike the sources are; 1 for equal ones, though CodeBLEU finds no data flow in a short one."""
        if a.source == b.source:
            return 1.0
        if self.is_symmetric:
            return self.of_texts(a.source, b.source)
        return (self.of_texts(a.source, b.source) + self.of_texts(b.source, a.source)) / 2
