"""Groups of algorithms by average linkage on their distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def average_linkage(distances: NDArray[np.float64], count: int) -> list[int]:
    """A label for each of N algorithms, at most `count` different ones, from their (N, N) symmetric distances.

    Merging stops at `count` groups; labels number the groups by their first member.
    """
    from scipy.cluster.hierarchy import cut_tree

    size = len(distances)
    if size <= count:
        return list(range(size))
    raw = cut_tree(_tree(distances), n_clusters=count).ravel().tolist()
    seen: dict[int, int] = {}
    return [seen.setdefault(label, len(seen)) for label in raw]


def joins(distances: NDArray[np.float64], labels: list[int]) -> list[tuple[int, int, float]]:
    """How the groups of `average_linkage` would join further, until one is left: two of them, and how far apart.

    Groups go by their labels; the first two that join are from then on a group of the next number, and so on.
    """
    size, count = len(distances), max(labels) + 1
    if size < 2:
        return []
    merged, named, found = size - count, dict(enumerate(labels)), []
    for step, (a, b, distance, _) in enumerate(_tree(distances).tolist()):
        one, other = named[int(a)], named[int(b)]
        named[size + step] = one if step < merged else count + step - merged
        if step >= merged:
            found.append((one, other, distance))
    return found


def _tree(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    tree: NDArray[np.float64] = linkage(squareform(distances, checks=False), method="average")
    return tree
