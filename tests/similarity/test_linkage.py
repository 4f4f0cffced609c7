"""Average linkage: groups of what is near, numbered by their first members."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from behavesim.similarity.linkage import Join, average_linkage, joins


def line(*places: float) -> np.ndarray:
    """The distances of points on a line."""
    return np.abs(np.subtract.outer(places, places))


@pytest.mark.parametrize(
    ("places", "count", "labels"),
    [
        ((0, 10, 1, 11), 2, [0, 1, 0, 1]),
        ((0, 10, 1, 11), 1, [0, 0, 0, 0]),
        ((0, 10, 1, 12), 3, [0, 1, 0, 2]),
        ((0, 10, 1, 11), 4, [0, 1, 2, 3]),
        ((0, 10), 5, [0, 1]),
        ((0,), 1, [0]),
        ((0, 2, 4.1, 6.9), 2, [0, 0, 1, 1]),  # single linkage would chain the first three
        ((0, 3, 8, 12.6), 3, [0, 0, 1, 2]),
    ],
)
def test_the_nearest_on_average_are_merged_until_so_many_groups_are_left(
    places: tuple[float, ...], count: int, labels: list[int]
) -> None:
    assert average_linkage(line(*places), count) == labels


def test_groups_merge_by_the_mean_of_their_distances() -> None:
    # from {0, 3} to 7.6 it is 6.1 on average, 4.6 at least, 7.6 at most; from 7.6 to 13 it is 5.4
    assert average_linkage(line(0, 3, 7.6, 13), 2) == [0, 0, 1, 1]
    assert average_linkage(line(0, 3, 7.6, 13.8), 2) == [0, 0, 0, 1]


def same_groups(labels: list[int], others: list[int]) -> bool:
    return len(set(labels)) == len(set(others)) == len(set(zip(labels, others, strict=True)))


@pytest.mark.parametrize("levels", [2, 5, 2**40])
def test_groups_and_joins_are_those_of_scipy_among_equal_distances_too(levels: int) -> None:
    rng = np.random.default_rng(levels)
    for size in range(2, 30):
        half = np.triu(rng.integers(0, levels, (size, size)) / levels, 1)
        distances = half + half.T
        tree = linkage(squareform(distances), method="average")
        assert joins(distances, list(range(size))) == [Join(int(a), int(b), d) for a, b, d, _ in tree.tolist()]
        for count, expected in zip(range(size, 0, -1), cut_tree(tree).T.tolist(), strict=True):
            labels = average_linkage(distances, count)
            assert same_groups(labels, expected)
            joined = [group for join in joins(distances, labels) for group in (join.one, join.other)]
            assert sorted(joined) == list(range(2 * count - 2))  # each joins once, but the last
