"""How alike programs are within islands and between them, beside the definition."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import pytest

from behavesim.analysis.convergence import Diversity, DiversityAt, diversity, diversity_over_time
from behavesim.analysis.run import Run
from behavesim.reports.curves import diversity_chart
from behavesim.similarity import BehaveSim
from behavesim.trajectory import Trajectory
from tests.analysis.journals import clustered, feasible, journalled, started

TOURS = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 2, 1], [0, 1, 3, 2], [0, 2, 3, 1]]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def distance(a: int, b: int) -> float:
    return 1 - BehaveSim(50).between([Trajectory.prefixes(TOURS[a])], [Trajectory.prefixes(TOURS[b])])


def made(folder: Path, islands: list[int], **settings: object) -> Run:
    """A run whose candidates, one a tour, went to these islands."""
    placed = (feasible(k, 5.0, TOURS[k], island=island) for k, island in enumerate(islands))
    return journalled(folder, started(**{"islands": 3, "budget": 10, **settings}), clustered((), (), ()), *placed)  # type: ignore[arg-type]


def test_distances_are_means_over_pairs_inside_islands_and_between_them(tmp_path: Path) -> None:
    found = diversity(made(tmp_path / "first", [0, 0, 0, 1, 1]))
    assert found.intra == (
        pytest.approx(mean([distance(a, b) for a, b in combinations([0, 1, 2], 2)])),
        pytest.approx(distance(3, 4)),
        None,
    )
    assert found.inter == pytest.approx(mean([distance(a, b) for a, b in product([0, 1, 2], [3, 4])]))


def test_islands_count_alike_between_whatever_their_size(tmp_path: Path) -> None:
    found = diversity(made(tmp_path / "first", [0, 0, 0, 1, 2]))
    pairs = [mean([distance(a, 3) for a in (0, 1, 2)]), mean([distance(a, 4) for a in (0, 1, 2)]), distance(3, 4)]
    assert found.inter == pytest.approx(mean(pairs))
    assert found.intra[1:] == (None, None)


def test_where_there_is_nothing_to_compare_nothing_is_known(tmp_path: Path) -> None:
    assert diversity(made(tmp_path / "none", [])) == Diversity((None, None, None), None)
    assert diversity(made(tmp_path / "one", [1])) == Diversity((None, None, None), None)


def test_a_large_island_is_sampled_the_same_way_every_time(tmp_path: Path) -> None:
    run = made(tmp_path / "first", [0, 0, 0, 0, 0])
    few = [diversity(run, sample=2) for _ in range(2)]
    assert few[0] == few[1]
    assert few[0].intra[0] in [pytest.approx(distance(a, b)) for a, b in combinations(range(5), 2)]
    everything = mean([distance(a, b) for a, b in combinations(range(5), 2)])
    assert diversity(run, sample=5).intra[0] == pytest.approx(everything)
    drawn = {diversity(made(tmp_path / f"{seed}", [0] * 5, seed=seed), sample=2).intra[0] for seed in range(8)}
    assert len(drawn) > 1


def test_the_template_is_no_candidate_and_does_not_count(tmp_path: Path) -> None:
    run = made(tmp_path / "first", [0, 0, 1])
    run.state.groups["0"].members.insert(0, -1)
    assert diversity(run) == diversity(made(tmp_path / "other", [0, 0, 1]))


def test_over_time_the_archive_is_as_it_was_then(tmp_path: Path) -> None:
    moments = diversity_over_time(made(tmp_path / "first", [0, 0, 1], budget=10))
    assert [then.registered for then in moments] == [1, 2, 3]
    assert moments[0] == DiversityAt((None, None, None), None, 1)
    assert moments[1].intra == (pytest.approx(distance(0, 1)), None, None)
    assert moments[1].inter is None
    assert moments[2].inter == pytest.approx(mean([distance(0, 2), distance(1, 2)]))


def test_the_separation_is_the_distance_between_over_that_inside() -> None:
    assert Diversity((0.2, None, 0.4), 0.6).inside == pytest.approx(0.3)
    assert Diversity((0.2, None, 0.4), 0.6).separation == pytest.approx(2.0)


@pytest.mark.parametrize("known", [Diversity((None,), 0.5), Diversity((0.2,), None), Diversity((0.0,), 0.5)])
def test_the_separation_is_unknown_where_either_is_or_all_inside_are_alike(known: Diversity) -> None:
    assert known.separation is None


def test_files_hold_the_mean_inside_and_between() -> None:
    table = diversity_chart({"run": (DiversityAt((0.25, 0.75), 0.5, 10), DiversityAt((None,), None, 20))}).table
    assert table is not None
    assert [column.name for column in table.columns] == ["registered", "intra", "inter"]
    assert table.rows == ((10, 0.5, 0.5), (20, None, None))
