"""Groups of algorithms by average linkage on their distances, as scipy finds them.

scipy takes a quarter of a second to load, so it is loaded at the first use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
