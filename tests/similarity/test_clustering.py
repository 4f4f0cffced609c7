"""Groups of what is near, by average linkage and by k-means, numbered by their first members."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import squareform

from behavesim.similarity.clustering import Join, average_linkage, joins, k_means


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


def blobs(*sizes: int) -> np.ndarray:
    """Points around as many centres, which are far from one another."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(100.0 * place, 1.0, (size, 5)) for place, size in enumerate(sizes)])


@pytest.mark.parametrize("seed", range(5))
def test_k_means_finds_groups_that_are_far_apart_whatever_it_draws(seed: int) -> None:
    points = blobs(20, 3, 1, 9)
    assert k_means(points, 4, np.random.default_rng(seed)) == [0] * 20 + [1] * 3 + [2] + [3] * 9
    shuffled = np.random.default_rng(seed).permutation(len(points))
    labels = k_means(points[shuffled], 4, np.random.default_rng(seed))
    assert labels[0] == 0 and sorted(set(labels)) == [0, 1, 2, 3]
    assert list(dict.fromkeys(labels)) == [0, 1, 2, 3]  # by their first members


def test_k_means_is_at_least_as_near_as_that_of_scipy() -> None:
    points = np.random.default_rng(1).random((60, 60))

    def spread(labels: list[int]) -> float:
        groups = [points[np.array(labels) == label] for label in set(labels)]
        return sum(float(((group - group.mean(axis=0)) ** 2).sum()) for group in groups)

    theirs = min(spread(kmeans2(points, 6, iter=100, minit="++", seed=seed)[1].tolist()) for seed in range(10))
    assert spread(k_means(points, 6, np.random.default_rng(0))) <= 1.01 * theirs


def test_k_means_makes_no_more_groups_than_there_are_different_points() -> None:
    points = np.repeat([[0.0, 1.0], [2.0, 2.0]], [3, 2], axis=0)
    assert k_means(points, 4, np.random.default_rng(0)) == [0, 0, 0, 1, 1]
    assert k_means(points[:1], 4, np.random.default_rng(0)) == [0]
    assert points.tolist() == [[0.0, 1.0]] * 3 + [[2.0, 2.0]] * 2  # left as they were
