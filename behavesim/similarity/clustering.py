"""Groups of algorithms by their distances: by average linkage, as scipy finds it, or by k-means.

scipy takes a quarter of a second to load, so it is loaded at the first use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STARTS = 10
"""Number of random starts of `k_means`, of which the best counts."""
ROUNDS = 300
"""Most rounds of one start of `k_means`; a hundred algorithms settle within ten or so."""


@dataclass(frozen=True)
class Join:
    """One merge of average linkage: the groups `one` and `other` become one.

    `distance` is their distance, the mean over all pairs of a member of `one` and a member of `other`. N groups have
    the numbers 0 … N − 1; the first join makes group N, the next N + 1, and so on.
    """

    one: int
    other: int
    distance: float


def tree(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scipy's matrix of average linkage, (N - 1, 4), of (N, N) symmetric distances: all joins, nearest first.

    A row has the numbers of two groups as in `Join`, their distance, and how many algorithms they have together. N is
    at least 2. Distances below 0, which rounding makes, count as 0.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    found: NDArray[np.float64] = linkage(squareform(np.maximum(distances, 0.0), checks=False), method="average")
    return found


def average_linkage(distances: NDArray[np.float64], count: int) -> list[int]:
    """Return the number of the group of each of N algorithms, from (N, N) symmetric distances; at most `count` groups.

    Groups are joined until `count`, 1 or more, are left. They are numbered from 0 in order of their first members.
    """
    size = len(distances)
    if size <= count:
        return list(range(size))
    from scipy.cluster.hierarchy import cut_tree

    seen: dict[int, int] = {}
    return [seen.setdefault(group, len(seen)) for group in cut_tree(tree(distances), count)[:, 0].tolist()]


def joins(distances: NDArray[np.float64], labels: list[int]) -> list[Join]:
    """Return the G − 1 joins of the G groups of `average_linkage`, nearest first, until one group is left.

    distances: (N, N), symmetric. labels: what `average_linkage` returned for these distances, with N at least 1.
    """
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


def k_means(points: NDArray[np.float64], count: int, rng: np.random.Generator) -> list[int]:
    """Return the number of the group of each of N points, (N, D); at most `count` groups, and fewer if points coincide.

    Of STARTS starts by k-means++ the one with the least sum of squared distances to the groups' means counts, the first
    of equal ones. Groups are numbered from 0 in order of their first members.
    """
    # not scipy's: its k-means++ divides by zero if there are fewer different points than groups, and the name of its
    # argument for the generator depends on its release. Sums here are numpy's own, not BLAS's, whose last bit depends
    # on the processor and could move a point from one group to another.
    _, labels = min((_settled(points, _spread(points, count, rng)) for _ in range(STARTS)), key=lambda start: start[0])
    seen: dict[int, int] = {}
    return [seen.setdefault(group, len(seen)) for group in labels.tolist()]


def _spread(points: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw up to `count` different points as first centres: each with p ∝ squared distance to the nearest so far."""
    chosen = [int(rng.integers(len(points)))]
    nearest = _squared(points, points[chosen])[:, 0]
    while len(chosen) < count and nearest.any():
        chosen.append(int(rng.choice(len(points), p=nearest / nearest.sum())))
        nearest = np.minimum(nearest, _squared(points, points[chosen[-1:]])[:, 0])
    return points[chosen]


def _settled(points: NDArray[np.float64], centres: NDArray[np.float64]) -> tuple[float, NDArray[np.intp]]:
    """Move the centres to the means of their points until no point changes its group.

    Return the sum of squared distances, and the place of each point's centre.
    """
    labels = np.full(len(points), -1)
    for _ in range(ROUNDS):
        squared = _squared(points, centres)
        before, labels = labels, squared.argmin(axis=1)
        if np.array_equal(before, labels):
            break
        for centre in set(labels.tolist()):  # one that has lost all its points stays where it is
            centres[centre] = points[labels == centre].mean(axis=0)
    return float(squared.min(axis=1).sum()), labels


def _squared(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distances of N points to K centres, (N, K)."""
    return np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
