"""Groups of algorithms by average linkage on their distances, equal to those of `scipy.cluster.hierarchy`.

Every run that compares needs them once, and loading scipy would cost it a quarter of a second of CPU time.
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
    """Return all joins of average linkage, nearest first, as the (N - 1, 4) matrix of scipy's `linkage`.

    A row has the numbers of two groups as in `Join`, the smaller one first, their distance, and how many algorithms
    they have together. distances: (N, N), symmetric, N at least 2. Distances below 0, which rounding makes, count as 0.
    """
    found = _joined(np.maximum(distances, 0.0))
    size = len(distances)
    newest = list(range(2 * size - 1))  # by a group's number, the group that it was joined into; itself at first
    members = [1] * size
    rows = []
    for one, other, distance in sorted(found, key=lambda join: join[2]):  # equal distances stay in order, as in scipy
        groups = sorted((_last(newest, one), _last(newest, other)))
        for group in groups:
            newest[group] = len(members)
        members.append(members[groups[0]] + members[groups[1]])
        rows.append((*groups, distance, members[-1]))
    return np.array(rows, np.float64)


def _joined(distances: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Return all joins, each as two rows of `distances` and their distance, by a chain of nearest neighbours.

    Two groups that are each other's nearest are joined, wherever they are met: others do not change that (Müllner
    2011, "Modern hierarchical, agglomerative clustering algorithms"). The second row then stands for both groups. The
    matrix is overwritten.
    """
    np.fill_diagonal(distances, np.inf)  # infinitely far: itself, and groups that were joined to others
    sizes = [1] * len(distances)
    found: list[tuple[int, int, float]] = []
    chain: list[int] = []
    while len(found) < len(distances) - 1:
        chain = chain or [next(row for row, size in enumerate(sizes) if size)]
        nearest = int(distances[chain[-1]].argmin())
        # of equally near groups the one before in the chain comes first, else the chain could go in circles
        if len(chain) < 2 or distances[chain[-1], nearest] < distances[chain[-1], chain[-2]]:
            chain.append(nearest)
            continue
        x, y = sorted((chain.pop(), chain.pop()))
        found.append((x, y, float(distances[x, y])))
        mean = (sizes[x] * distances[x] + sizes[y] * distances[y]) / (sizes[x] + sizes[y])
        distances[y] = distances[:, y] = mean
        distances[x] = distances[:, x] = distances[y, y] = np.inf
        sizes[x], sizes[y] = 0, sizes[x] + sizes[y]
    return found


def _last(newest: list[int], group: int) -> int:
    """Return the group that a group is in now; `newest` is shortened on the way."""
    while newest[group] != group:
        newest[group] = newest[newest[group]]
        group = newest[group]
    return group


def average_linkage(distances: NDArray[np.float64], count: int) -> list[int]:
    """Return the number of the group of each of N algorithms, from (N, N) symmetric distances; at most `count` groups.

    Groups are joined until `count`, 1 or more, are left. They are numbered from 0 in order of their first members.
    """
    size = len(distances)
    if size <= count:
        return list(range(size))
    rows = tree(distances).tolist()
    order = [2 * size - 2]  # from the last join down, the second group before the first
    for number in order:
        if number >= size:
            order += [int(rows[number - size][1]), int(rows[number - size][0])]
    # the order among equal distances is that of scipy's `cut_tree`, by which earlier runs were grouped
    made = sorted((number for number in reversed(order) if number >= size), key=lambda number: rows[number - size][2])
    groups = {number: [number] for number in range(size)}
    for number in made[: size - count]:
        one, other, *_ = rows[number - size]
        groups[number] = groups.pop(int(one)) + groups.pop(int(other))
    labels = [0] * size
    for label, members in enumerate(sorted(groups.values(), key=min)):
        for member in members:
            labels[member] = label
    return labels


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
