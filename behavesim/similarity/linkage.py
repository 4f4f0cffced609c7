"""Groups of algorithms by average linkage on their distances.

Merges and groups are scipy's, among equal distances too, without the quarter of a second that its modules take to load.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Join = tuple[int, int, float]
"""Two groups that become one, and their distance: the mean over pairs of a member of either."""


def average_linkage(distances: NDArray[np.float64], count: int) -> list[int]:
    """A label for each of N algorithms, at most `count` different ones, from their (N, N) symmetric distances.

    Merging stops at `count` groups; labels number the groups by their first member.
    """
    size = len(distances)
    if size <= count:
        return list(range(size))
    tree = _tree(distances)
    nodes = [2 * size - 2]  # of the tree: a number from `size` on is that of a join, a lesser one an algorithm's
    for node in nodes:
        if node >= size:
            one, other, _ = tree[node - size]
            nodes += other, one
    joined = sorted((node for node in nodes if node >= size), key=lambda node: tree[node - size][2], reverse=True)
    parted = set(joined[: count - 1])  # of equal joins that nearest the root is undone first
    groups = list(range(2 * size - 1))
    for node in nodes:  # from the root to the leaves
        if node >= size and node not in parted:
            one, other, _ = tree[node - size]
            groups[one] = groups[other] = groups[node]
    seen: dict[int, int] = {}
    return [seen.setdefault(group, len(seen)) for group in groups[:size]]


def joins(distances: NDArray[np.float64], labels: list[int]) -> list[Join]:
    """How the groups of `average_linkage` would join further, until one is left: two of them, and how far apart.

    Groups go by their labels; the first two that join are from then on a group of the next number, and so on.
    """
    named, count = list(labels), max(labels) + 1
    found: list[Join] = []
    for a, b, distance in _tree(distances):
        one, other = named[a], named[b]
        if one == other:  # within a group; among equal distances such a join may come after others
            named.append(one)
        else:
            named.append(count + len(found))
            found.append((one, other, distance))
    return found


def _tree(distances: NDArray[np.float64]) -> list[Join]:
    """All N - 1 joins, the nearest first; algorithms are numbered from 0, and what join k has made is N + k."""
    size = len(distances)
    within = list(range(size))  # what each algorithm, and each join, is part of by now

    def group(of: int) -> int:
        while within[of] != of:
            within[of] = of = within[within[of]]
        return of

    tree = []
    for one, other, distance in sorted(_found_joins(distances), key=lambda join: join[2]):
        first, second = sorted((group(one), group(other)))
        within[first] = within[second] = len(within)
        within.append(len(within))
        tree.append((first, second, distance))
    return tree


def _found_joins(distances: NDArray[np.float64]) -> list[Join]:
    """All joins in the order in which a chain of nearest neighbours meets them, each of two algorithms of the groups.

    Two groups that are nearest to one another join in any order of joins, since a mean is never less than the lesser
    of what it is made of (Murtagh 1983; Müllner 2011, algorithm 3). A group goes by one of its algorithms.
    """
    between = distances.astype(np.float64)
    np.fill_diagonal(between, np.inf)
    sizes = np.ones(len(distances))
    chain: list[int] = []
    found = []
    for _ in range(len(distances) - 1):
        chain = chain or [int(np.flatnonzero(sizes)[0])]
        while True:
            x = chain[-1]
            y = int(between[x].argmin())
            if len(chain) > 1 and between[x, chain[-2]] == between[x, y]:
                break
            chain.append(y)
        gone, kept = sorted((chain.pop(), chain.pop()))
        found.append((gone, kept, float(between[gone, kept])))
        weights = sizes[gone], sizes[kept]
        between[kept] = (weights[0] * between[gone] + weights[1] * between[kept]) / sum(weights)
        between[:, kept] = between[kept]
        between[gone] = between[:, gone] = np.inf
        sizes[gone], sizes[kept] = 0.0, sum(weights)
    return found
