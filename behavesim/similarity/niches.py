"""Clearing: of programs with similar behaviour, only the best is chosen."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.archive import Archive
from behavesim.similarity.measure import BehaveSim
from behavesim.trajectory import AlgorithmRun, packed

Preference = tuple[float, int, int]
"""Sort key of a program; the best program has the smallest key. It is the negated utility (the score, turned so that
higher is better), the length of the source in characters, and the program's number."""

BASE = 100
"""Number of distinct behaviours, the first that were added, whose median distance is the unit of the radius. A hundred
give a stable median. Later programs do not change it; before the hundredth it is the median of those that there are."""


def cleared(size: int, count: int, apart: float, distances: Callable[[int], NDArray[np.float64]]) -> list[int]:
    """Return the ranks, ascending from 0, of at most `count` of `size` ranked programs that are far from one another.

    From the best on, a program is chosen if its distance to each one chosen before is at least `apart`; with `apart` 0,
    the first `count` are chosen. `distances(rank)` returns, (size,), the distances of the program of that rank to all.
    """
    free, chosen = np.ones(size, dtype=bool), list[int]()
    while len(chosen) < count and free.any():
        chosen.append(int(free.argmax()))
        if apart > 0:
            free &= distances(chosen[-1]) >= apart
        free[chosen[-1]] = False
    return chosen


def median_distance(distances: NDArray[np.float64]) -> float:
    """Return the median distance of two different programs, from (N, N) symmetric distances; 0.0 if N is below 2."""
    pairs = distances[np.triu_indices(len(distances), 1)]
    return float(np.median(pairs)) if pairs.size else 0.0


class Niches:
    """Programs by behaviour, from which `clear` chooses. It keeps the distances of those it chose last.

    Programs with equal trajectories share one behaviour, represented by the best of them.
    """

    def __init__(self, measure: BehaveSim) -> None:
        """Begin without programs; `measure` compares their behaviours."""
        self._measure = measure
        self._archive = Archive()
        self._behaviours: dict[bytes, int] = {}
        self._algorithms: list[Sequence[AlgorithmRun]] = []
        self._preferred: list[Preference] = []  # of each behaviour
        self._ranking: list[tuple[Preference, int]] = []  # the same with the behaviour's number, preferred ones first
        self._rows: dict[int, NDArray[np.float64]] = {}  # distances of the last chosen behaviours to all others
        self._scale: tuple[int, float] = (0, 0.0)  # how many behaviours the median is of, and the median

    def add(self, algorithm: Sequence[AlgorithmRun], preference: Preference) -> None:
        """Add a program: one run for each instance, and its sort key; of equal behaviours the smallest key counts.

        Raises TrajectoryError if its runs do not fit those added before: other instances, kinds or dimensions.
        """
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
        """Return the numbers (the last of `Preference`) of at most `count` programs, best first, far from one another.

        Far means a distance (1 − BehaveSim) of at least `radius` times the median distance of the first hundred
        distinct behaviours. With radius 0 behaviours only have to differ. Empty if no program was added. Raises
        TrajectoryError if two cannot be compared: DistanceError if the measure is strict and a distance is above its
        normaliser.
        """
        order = np.array([number for _, number in self._ranking], dtype=np.intp)
        apart = radius * self._median() if radius else 0.0
        self._extend()
        ranks = cleared(len(order), count, apart, lambda rank: self._distances(int(order[rank]))[order])
        chosen = order[ranks].tolist()
        self._rows = {number: row for number, row in self._rows.items() if number in chosen}
        return [self._preferred[number][2] for number in chosen]

    def _median(self) -> float:
        """Return the median distance between the first BASE distinct behaviours; 0.0 for fewer than two."""
        base = min(BASE, len(self._algorithms))
        if self._scale[0] != base:
            self._scale = base, median_distance(1.0 - self._measure.matrix(self._archive.take(range(base))))
        return self._scale[1]

    def _distances(self, number: int) -> NDArray[np.float64]:
        """Return, (N,), the distances, 1 − BehaveSim, of the behaviour of this number to all N; computed once."""
        if number not in self._rows:
            self._rows[number] = 1.0 - self._measure.one_vs_many(self._algorithms[number], self._archive)
        return self._rows[number]

    def _extend(self) -> None:
        """Complete the distances of the last chosen behaviours by those to behaviours added since."""
        if not self._rows:
            return
        known = len(next(iter(self._rows.values())))  # they were all brought up to date together
        fresh = self._archive.take(range(known, len(self._algorithms)))
        for number, row in self._rows.items():
            tail = 1.0 - self._measure.one_vs_many(self._algorithms[number], fresh)
            self._rows[number] = np.concatenate([row, tail])
