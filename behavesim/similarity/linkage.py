"""Groups of algorithms by average linkage on their distances, as scipy finds them.

scipy takes a quarter of a second to load, so it is loaded at the first use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Join = tuple[int, int, float]
"""Two groups that become one, and their distance: the mean over pairs of a member of either."""


def tree(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scipy's linkage matrix (N - 1, 4) of (N, N) symmetric distances: all joins, the nearest first."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    found: NDArray[np.float64] = linkage(squareform(np.maximum(distances, 0.0), checks=False), method="average")
    return found


def average_linkage(distances: NDArray[np.float64], count: int) -> list[int]:
    """Return a label for each of N algorithms, at most `count` different ones, from (N, N) symmetric distances.

    Joining stops at `count` groups; labels number the groups by their first member.
    """
    size = len(distances)
    if size <= count:
        return list(range(size))
    from scipy.cluster.hierarchy import cut_tree

    seen: dict[int, int] = {}
    return [seen.setdefault(group, len(seen)) for group in cut_tree(tree(distances), count)[:, 0].tolist()]


def joins(distances: NDArray[np.float64], labels: list[int]) -> list[Join]:
    """Return how the groups of `average_linkage` join further, until one is left: two of them, and how far apart.

    Groups go by their labels; the first two that join are from then on a group of the next number, and so on.
    """
    named, count = list(labels), max(labels) + 1
    found: list[Join] = []
    for a, b, distance, _ in tree(distances).tolist() if count > 1 else ():
        one, other = named[int(a)], named[int(b)]
        if one == other:  # within a group; among equal distances such a join may come after others
            named.append(one)
        else:
            named.append(count + len(found))
            found.append((one, other, distance))
    return found
