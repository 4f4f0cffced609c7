"""The different behaviours of a run so far, one line for each: programs that behave alike share one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from behavesim.trajectory import AlgorithmRun

if TYPE_CHECKING:
    from behavesim.similarity import Archive, BehaveSim

MOST = 24
"""Largest number of ways; after that a new program joins the nearest way, however far it is.

There is a limit because each new program is compared with the first program of each way."""
SAMPLE = 200
"""Number of distances, the first ones, whose median is the unit of the radius. Later ones would change it little."""


@dataclass(frozen=True)
class Way:
    """Programs that behave alike: how many, and the score and idea of the best one.

    If that one has no idea, `idea` is that of the best one before it; "" if there is none either.
    """

    count: int
    score: float
    idea: str


class Ways:
    """Divides programs, one after another, into ways; the first program of a way represents it."""

    def __init__(self, measure: BehaveSim, radius: float, sign: int) -> None:
        """Begin without programs, which `measure` will compare.

        A distance of more than `radius` times the median distance begins a new way. `sign` is 1 if greater scores are
        better, and -1 if lower ones are.
        """
        self._measure = measure
        self._radius = radius
        self._sign = sign
        self._leaders: Archive | None = None
        self._ways: list[Way] = []
        self._distances: list[float] = []

    def add(self, algorithm: Sequence[AlgorithmRun], score: float, idea: str) -> None:
        """Add a program to the way nearest to it, or to a new one; raises TrajectoryError if it does not fit them."""
        from behavesim.similarity import Archive

        if self._leaders is None:
            self._leaders = Archive()
        far = 1.0 - self._measure.one_vs_many(algorithm, self._leaders) if self._ways else np.empty(0)
        apart = self._radius * float(np.median(self._distances)) if self._distances else 0.0
        self._distances += far.tolist()[: SAMPLE - len(self._distances)]
        if far.size and (far.min() <= apart or len(self._ways) == MOST):
            self._join(int(far.argmin()), score, idea)
        else:
            self._leaders.append(algorithm)
            self._ways.append(Way(1, score, idea))

    def best(self) -> list[Way]:
        """Return all ways, those with the best scores first."""
        return sorted(self._ways, key=lambda way: -self._sign * way.score)

    def _join(self, number: int, score: float, idea: str) -> None:
        way = replace(self._ways[number], count=self._ways[number].count + 1)
        is_better = self._sign * score > self._sign * way.score
        self._ways[number] = replace(way, score=score, idea=idea or way.idea) if is_better else way
