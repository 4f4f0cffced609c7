"""The protocol of a similarity metric, and the data that metrics compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from behavesim.trajectory import AlgorithmRun


@dataclass(frozen=True)
class Observed:
    """A program's source, and its solution, trajectory and trace on each instance; what was not recorded is empty."""

    source: str
    solutions: tuple[Any, ...] = ()
    trajectories: tuple[AlgorithmRun, ...] = ()
    traces: tuple[str, ...] = ()
    """Changes of variables as `name = value`, a line each; one text for each instance."""


class Similarity(Protocol):
    """A similarity metric of two programs: `similarity(a, b)` is in [0, 1], symmetric, and 1 for equal programs."""

    @property
    def name(self) -> str:
        """The metric's name in commands and documents, such as "codebleu"."""

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the similarity of two programs in [0, 1].

        Raises BehavesimError, SyntaxError, ValueError or ZeroDivisionError if the metric cannot compare them.
        """


@dataclass(frozen=True)
class OfTraces:
    """Similarity of two programs' execution traces by a metric of texts: the mean over instances and both directions.

    It is in [0, 1] if `of_texts` is.
    """

    name: str
    of_texts: Callable[[str, str], float]

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the similarity of the traces in [0, 1].

        Raises ZeroDivisionError if the programs have no traces, ValueError if one has more than the other.
        """
        pairs = list(zip(a.traces, b.traces, strict=True))
        return sum(self.of_texts(x, y) + self.of_texts(y, x) for x, y in pairs) / (2 * len(pairs))


@dataclass(frozen=True)
class OfSource:
    """Similarity of two sources by a metric of texts: the mean of both directions unless it is symmetric.

    Equal sources have 1. It is in [0, 1] if `of_texts` is.
    """

    name: str
    of_texts: Callable[[str, str], float]
    is_symmetric: bool = True

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the similarity of the sources in [0, 1]; raises what `of_texts` raises."""
        if a.source == b.source:
            return 1.0  # CodeBLEU gives less to short sources, which have no data flow
        if self.is_symmetric:
            return self.of_texts(a.source, b.source)
        return (self.of_texts(a.source, b.source) + self.of_texts(b.source, a.source)) / 2
