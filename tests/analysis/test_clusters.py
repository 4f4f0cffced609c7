"""Programs that behave alike."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from behavesim.analysis.behaviours import Cluster, clustering, clusters_table
from behavesim.analysis.table import Scored
from behavesim.reports.maps import tree_chart
from behavesim.similarity import BehaveSim
from behavesim.trajectory import Trajectory
from tests.analysis.journals import feasible, journalled, started

NEAR = [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 5, 4], [0, 1, 2, 4, 3, 5]]
FAR = [[9, 8, 7, 6, 5, 4], [9, 8, 7, 6, 4, 5]]


def alike(a: list[int], b: list[int]) -> float:
    return BehaveSim(50).between([Trajectory.prefixes(a)], [Trajectory.prefixes(b)])


def test_programs_that_behave_alike_stand_together_best_cluster_first(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        feasible(0, 6.0, NEAR[0]),
        feasible(1, 4.0, FAR[0]),
        feasible(2, 5.0, NEAR[1]),
        feasible(3, 7.0, FAR[1]),
        feasible(4, 8.0, NEAR[2]),
    )
    first, second = clustering(run, clusters=2).clusters
    assert (first.members, first.size, first.best) == ((1, 3), 2, Scored(1, 4.0, 1.0))
    assert (second.members, second.size, second.best) == ((2, 0, 4), 3, Scored(2, 5.0, 1.5))
    assert first.cohesion == pytest.approx(alike(*FAR))
    assert second.cohesion == pytest.approx(sum(alike(a, b) for a, b in combinations(NEAR, 2)) / 3)


def test_the_medoid_is_most_like_the_others(tmp_path: Path) -> None:
    tours = [[0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5], [1, 0, 2, 3, 5, 4]]
    run = journalled(tmp_path / "first", started(), *(feasible(k, 5.0 + k, tour) for k, tour in enumerate(tours)))
    (found,) = clustering(run, clusters=1).clusters
    assert (found.best.candidate, found.medoid) == (0, 1)


def test_a_program_alone_has_no_cohesion(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0, NEAR[0]), feasible(1, 6.0, FAR[0]))
    assert [(each.members, each.medoid, each.cohesion) for each in clustering(run).clusters] == [
        ((0,), 0, None),
        ((1,), 1, None),
    ]


def test_only_the_best_are_clustered_and_into_so_many(tmp_path: Path) -> None:
    everything = [*NEAR, *FAR]
    run = journalled(tmp_path / "first", started(), *(feasible(k, 5.0 + k, tour) for k, tour in enumerate(everything)))
    assert sorted(m for each in clustering(run, programs=3).clusters for m in each.members) == [0, 1, 2]
    assert len(clustering(run, clusters=4).clusters) == 4
    assert [each.members for each in clustering(run, clusters=1).clusters] == [(0, 1, 2, 3, 4)]


def test_without_a_feasible_program_there_is_no_cluster(tmp_path: Path) -> None:
    assert clustering(journalled(tmp_path / "first", started())).clusters == ()


def test_a_row_names_the_best_program_of_a_cluster() -> None:
    table = clusters_table(
        (Cluster(2, (4, 7), Scored(4, 3.0, 0.5), 7, 0.25), Cluster(1, (5,), Scored(5, 4.0, None), 5, None))
    )
    assert [column.name for column in table.columns] == [
        "cluster", "programs", "best", "score", "gap", "medoid", "cohesion",
    ]  # fmt: skip
    assert table.rows == ((1, 2, 4, 3.0, 0.5, 7, 0.25), (2, 1, 5, 4.0, None, 5, None))


def test_clusters_join_until_one_is_left_the_nearest_first(tmp_path: Path) -> None:
    near, far, other = NEAR[0], FAR[0], [0, 1, 2, 9, 8, 7]
    run = journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0, far),
        feasible(1, 6.0, near),
        feasible(2, 7.0, other),
        feasible(3, 8.0, NEAR[1]),
    )
    found = clustering(run, clusters=3)
    assert [each.members for each in found.clusters] == [(0,), (1, 3), (2,)]
    near_to_other = 1 - (alike(near, other) + alike(NEAR[1], other)) / 2
    far_from_all = 1 - (alike(far, near) + alike(far, NEAR[1]) + alike(far, other)) / 3
    assert [(join.one, join.other) for join in found.joins] == [(2, 1), (0, 3)]
    assert [join.distance for join in found.joins] == pytest.approx([near_to_other, far_from_all])
    table = tree_chart("tree", "a tree", ["0", "1", "2"], found.joins).table
    assert table is not None
    assert [row[:3] for row in table.rows] == [(4, 3, 2), (5, 1, 4)]


def test_one_program_joins_nothing(tmp_path: Path) -> None:
    assert clustering(journalled(tmp_path / "first", started(), feasible(0, 5.0))).joins == ()


def test_programs_that_behave_the_same_are_in_one_cluster(tmp_path: Path) -> None:
    tours = [NEAR[0], FAR[0], NEAR[0], FAR[0], NEAR[0]]
    run = journalled(tmp_path / "first", started(), *(feasible(k, 5.0 + k, tour) for k, tour in enumerate(tours)))
    found = clustering(run, clusters=4)
    assert [each.members for each in found.clusters] == [(0, 2, 4), (1, 3)]
    assert len(found.joins) == 1
