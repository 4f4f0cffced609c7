"""Clearing: from each group of programs with similar behaviour, keep the best one."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.archive import Archive
from behavesim.similarity.measure import BehaveSim
from behavesim.trajectory import AlgorithmRun, packed

Preference = tuple[float, int, int]
"""Sort key of a program, best first: negated utility, length, number."""

BASE = 100
"""Number of first distinct behaviours whose median distance is the unit of the radius."""


def cleared(size: int, count: int, apart: float, distances: Callable[[int], NDArray[np.float64]]) -> list[int]:
    """Return the ranks, ascending, of at most `count` of `size` ranked programs, each at least `apart` from all before.

    `distances(rank)` are the (size,) distances of one of them to all, in the order of ranks.
    """
    free, chosen = np.ones(size, dtype=bool), list[int]()
    while len(chosen) < count and free.any():
        chosen.append(int(free.argmax()))
        if apart > 0:
            free &= distances(chosen[-1]) >= apart
        free[chosen[-1]] = False
    return chosen


class Niches:
    """Programs grouped by behaviour. A call of `clear` costs what has been added since the last call.

    Programs with equal trajectories share one behaviour, represented by the best of them.
    """

    def __init__(self, measure: BehaveSim) -> None:
        self._measure = measure
        self._archive = Archive()
        self._behaviours: dict[bytes, int] = {}
        self._algorithms: list[Sequence[AlgorithmRun]] = []
        self._preferred: list[Preference] = []  # of each behaviour
        self._ranking: list[tuple[Preference, int]] = []  # the same with the behaviour's number, preferred ones first
        self._rows: dict[int, NDArray[np.float64]] = {}  # the distances of a behaviour to the others, while it is kept
        self._scale: tuple[int, float] = (0, 0.0)

    def add(self, algorithm: Sequence[AlgorithmRun], preference: Preference) -> None:
        """Add a program: its runs, and its sort key."""
        number = self._behaviours.setdefault(packed(algorithm), len(self._algorithms))
        if number == len(self._algorithms):
            self._algorithms.append(algorithm)
            self._archive.append(algorithm)
            self._preferred.append(preference)
        elif preference < self._preferred[number]:
            del self._ranking[bisect_left(self._ranking, (self._preferred[number], number))]
            self._preferred[number] = preference
        else:
            return
        insort(self._ranking, (preference, number))

    def clear(self, radius: float, count: int) -> list[int]:
        """Return the numbers of at most `count` programs, best first, each far from all before it.

        Far means a distance (1 − BehaveSim) of at least `radius` times the median distance of the first hundred
        distinct behaviours. With radius 0 behaviours only have to differ.
        """
        order = np.array([number for _, number in self._ranking], dtype=np.intp)
        apart = radius * self._median() if radius else 0.0
        self._extend()
        ranks = cleared(len(order), count, apart, lambda rank: self._distances(int(order[rank]))[order])
        chosen = order[ranks].tolist()
        self._rows = {number: row for number, row in self._rows.items() if number in chosen}
        return [self._preferred[number][2] for number in chosen]

    def _median(self) -> float:
        base = min(BASE, len(self._algorithms))
        if self._scale[0] != base:
            distances = 1.0 - self._measure.matrix(self._archive.take(range(base)))
            pairs = distances[np.triu_indices(base, 1)]
            self._scale = base, float(np.median(pairs)) if pairs.size else 0.0
        return self._scale[1]

    def _distances(self, number: int) -> NDArray[np.float64]:
        """Return (N,) the distances, 1 − BehaveSim, of a behaviour to all."""
        if number not in self._rows:
            self._rows[number] = 1.0 - self._measure.one_vs_many(self._algorithms[number], self._archive)
        return self._rows[number]

    def _extend(self) -> None:
        """Compare the behaviours of the last selection with those added since."""
        if not self._rows:
            return
        known = len(next(iter(self._rows.values())))  # they were all brought up to date together
        fresh = self._archive.take(range(known, len(self._algorithms)))
        for number, row in self._rows.items():
            tail = 1.0 - self._measure.one_vs_many(self._algorithms[number], fresh)
            self._rows[number] = np.concatenate([row, tail])
