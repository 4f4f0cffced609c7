"""Groups of algorithms by their distances (average linkage, k-means), and the best of those that behave apart.

scipy takes a quarter of a second to load, so it is loaded at the first use.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.archive import Archive
from behavesim.similarity.measure import BehaveSim
from behavesim.trajectory import AlgorithmRun, pack_states


@dataclass(frozen=True)
class Join:
    """One merge of average linkage: the groups `one` and `other` become one.

    `distance` is the mean over all pairs of a member of `one` and a member of `other`. N groups have the numbers
    0 … N − 1; the first join makes group N, the next N + 1, and so on.
    """

    one: int
    other: int
    distance: float


def average_linkage(distances: NDArray[np.float64], count: int) -> list[int]:
    """Return the group, from 0 in order of first members, of each of N algorithms, from (N, N) symmetric distances."""
    size = len(distances)
    if size <= count:
        return list(range(size))
    from scipy.cluster.hierarchy import cut_tree

    seen: dict[int, int] = {}
    return [seen.setdefault(group, len(seen)) for group in cut_tree(tree(distances), count)[:, 0].tolist()]


def joins(distances: NDArray[np.float64], labels: list[int]) -> list[Join]:
    """Return the G − 1 joins of the G groups that `average_linkage` returned as `labels`, nearest first."""
    named, count = list(labels), max(labels) + 1
    found: list[Join] = []
    for a, b, distance, _ in tree(distances).tolist() if count > 1 else ():
        one, other = named[int(a)], named[int(b)]
        if one == other:  # within a group; among equal distances such a join may come after others
            named.append(one)
        else:
            named.append(count + len(found))
            found.append(Join(one, other, distance))
    return found


def tree(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scipy's matrix of average linkage, (N - 1, 4), of N ≥ 2 algorithms: all joins, nearest first."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    # distances below 0 come of rounding; no tree has joins of a negative height
    found: NDArray[np.float64] = linkage(squareform(np.maximum(distances, 0.0), checks=False), method="average")
    return found


# Number of random starts of `k_means`, of which the best counts.
STARTS = 10
# Most rounds of one start of `k_means`; a hundred algorithms settle within ten or so.
ROUNDS = 300


def k_means(points: NDArray[np.float64], count: int, rng: np.random.Generator) -> list[int]:
    """Return the group, from 0 in order of first members, of each of N points, (N, D), by the best of STARTS starts.

    There are at most `count` groups, and fewer if points coincide.
    """
    # not scipy's: its k-means++ divides by zero if there are fewer different points than groups, and the name of its
    # argument for the generator depends on its release. Sums here are numpy's own, not BLAS's, whose last bit depends
    # on the processor and could move a point from one group to another.
    _, labels = min((_settle(points, _spread(points, count, rng)) for _ in range(STARTS)), key=lambda start: start[0])
    seen: dict[int, int] = {}
    return [seen.setdefault(group, len(seen)) for group in labels.tolist()]


def _spread(points: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw up to `count` different points as first centres: each with p ∝ squared distance to the nearest so far."""
    chosen = [int(rng.integers(len(points)))]
    nearest = _squared_distances(points, points[chosen])[:, 0]
    while len(chosen) < count and nearest.any():
        chosen.append(int(rng.choice(len(points), p=nearest / nearest.sum())))
        nearest = np.minimum(nearest, _squared_distances(points, points[chosen[-1:]])[:, 0])
    return points[chosen]


def _settle(points: NDArray[np.float64], centres: NDArray[np.float64]) -> tuple[float, NDArray[np.intp]]:
    """Move the centres to their points' means until none moves; return the sum of squares, and the groups."""
    labels = np.full(len(points), -1)
    for _ in range(ROUNDS):
        squared = _squared_distances(points, centres)
        before, labels = labels, squared.argmin(axis=1)
        if np.array_equal(before, labels):
            break
        for centre in set(labels.tolist()):  # one that has lost all its points stays where it is
            centres[centre] = points[labels == centre].mean(axis=0)
    return float(squared.min(axis=1).sum()), labels


def _squared_distances(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances of N points to K centres, (N, K)."""
    return np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=1)


# Sort key of a program; the best program has the smallest key. It is the negated utility (the score, turned so that
# higher is better), the length of the source in characters, and the program's number.
Preference = tuple[float, int, int]

# Number of distinct behaviours, the first that were added, whose median distance is the unit of the radius. A hundred
# give a stable median. Later programs do not change it; before the hundredth it is the median of those that there are.
BASE = 100


class DiverseBest:
    """Programs by behaviour, from which `select` chooses; programs with equal trajectories share one, the best's."""

    def __init__(self, measure: BehaveSim) -> None:
        self._measure = measure
        self._archive = Archive()
        self._behaviours: dict[bytes, int] = {}
        self._algorithms: list[Sequence[AlgorithmRun]] = []
        self._preferred: list[Preference] = []  # of each behaviour
        self._ranking: list[tuple[Preference, int]] = []  # the same with the behaviour's number, preferred ones first
        self._rows: dict[int, NDArray[np.float64]] = {}  # distances of the last chosen behaviours to all others
        self._scale: tuple[int, float] = (0, 0.0)  # how many behaviours the median is of, and the median

    def add(self, algorithm: Sequence[AlgorithmRun], preference: Preference) -> None:
        """Add a program: one run for each instance, and its sort key; of equal behaviours the smallest key counts."""
        number = self._behaviours.setdefault(pack_states(algorithm), len(self._algorithms))
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

    def select(self, radius: float, count: int) -> list[int]:
        """Return the numbers of at most `count` programs, best first, that are far from one another.

        Far means a distance (1 − BehaveSim) of at least `radius` times the median distance of the first hundred
        distinct behaviours; with radius 0 behaviours only have to differ.
        """
        order = np.array([number for _, number in self._ranking], dtype=np.intp)
        apart = radius * self._median() if radius else 0.0
        self._extend()
        ranks = select_apart(len(order), count, apart, lambda rank: self._distances(int(order[rank]))[order])
        chosen = order[ranks].tolist()
        # the chosen ones mostly stay chosen: their distances are kept, and later completed; all would be N² numbers
        self._rows = {number: row for number, row in self._rows.items() if number in chosen}
        return [self._preferred[number][2] for number in chosen]

    def _median(self) -> float:
        """Return the median distance between the first BASE distinct behaviours; 0.0 for fewer than two."""
        base = min(BASE, len(self._algorithms))
        if self._scale[0] != base:
            self._scale = base, median_distance(1.0 - self._measure.matrix(self._archive.take(range(base))))
        return self._scale[1]

    def _distances(self, number: int) -> NDArray[np.float64]:
        """Return, (N,), the distances of the behaviour of this number to all N; computed once."""
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


def select_apart(size: int, count: int, apart: float, distances: Callable[[int], NDArray[np.float64]]) -> list[int]:
    """Return the ranks, ascending from 0, of at most `count` of `size` ranked programs that are far from one another.

    From the best on, a program is chosen if its distance to each one chosen before is at least `apart`.
    `distances(rank)` returns, (size,), those of the program of that rank to all.
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
