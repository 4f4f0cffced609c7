"""Measures on optimisers, stochastic laws, and routes: what the studies claim holds of what they compute."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from behavesim_studies import measures, similarity
from behavesim_studies.measures import (
    COMPARED,
    MEASURES,
    OPTIMISERS,
    OPTIMUM,
    STARTS,
    MeasuresStudy,
    StochasticStudy,
    starts,
)

from behavesim.similarity import BehaveSim
from tests.cli.command import Command


@cache
def on_optimisers() -> MeasuresStudy:
    return measures.study(measures.compare_measures())


@cache
def on_laws() -> StochasticStudy:
    """By two repetitions of fifty steps, which tell as much of the order of the means as ten of a hundred."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "SEEDS", 2)
        patch.setattr(measures, "DESCENT_STEPS", 50)
        return StochasticStudy(tuple(measures.compare_stochastic()))


@pytest.mark.parametrize("name", OPTIMISERS)
def test_an_optimiser_begins_at_the_start_and_descends(name: str) -> None:
    for start in starts():
        iterates = OPTIMISERS[name](start)
        assert (iterates[0] == start).all()
        assert np.linalg.norm(iterates[-1] - OPTIMUM) < np.linalg.norm(start - np.array(OPTIMUM)) + 1
    assert len(starts()) == STARTS


def test_thinning_keeps_the_ends_and_stretches_what_is_short() -> None:
    path = np.arange(6.0).reshape(3, 2)
    thin = measures.thin_iterates(path)
    assert len(thin) == measures.LENGTH
    assert (thin[0] == path[0]).all()
    assert (thin[-1] == path[-1]).all()


def test_the_measures_of_distance_agree_more_with_one_another_than_with_the_cosine() -> None:
    kendall = on_optimisers().document()["correlations"]["kendall"]
    distances = [each["value"] for each in kendall if "cosine" not in each["measures"]]
    cosines = [each["value"] for each in kendall if "cosine" in each["measures"]]
    assert min(distances) > max(cosines)


def test_each_pair_of_optimisers_is_compared_and_equal_ones_are_the_same_by_every_measure() -> None:
    document = on_optimisers().document()
    assert [tuple(row["pair"]) for row in document["pairs"]] == list(combinations(OPTIMISERS, 2))
    last = document["pairs"][-1]
    assert last["pair"] == ["NelderMead", "NelderMead-Adaptive"]
    assert all(last[measure] == pytest.approx(1.0, abs=1e-12) for measure in MEASURES)


def test_samples_know_a_law_whatever_the_seed_and_a_fixed_seed_does_not() -> None:
    by = {(name, how): dict(zip(COMPARED, values, strict=True)) for name, how, values in on_laws().rows}
    for (name, how), values in by.items():
        assert values["same law, other seeds"] > 0.995, name
        if how != "fixed seed":
            others = max(values["other law"], values["another law"])
            assert values["same law, other use of the generator"] > max(0.995, others)
    assert by["random route", "fixed seed"]["same law, other use of the generator"] < 0.9


def test_routes_are_compared_as_the_measure_does_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = similarity.visual_study()
    assert sorted(found.routes[0]) == sorted(found.routes[1]) == list(range(similarity.DRAWN_CITIES))
    assert found.similarity == BehaveSim(50).similarity(*map(similarity.Trajectory.prefixes, found.routes))
    assert found.shared(similarity.DRAWN_CITIES) == similarity.DRAWN_CITIES
    files = [*found.draw(tmp_path / "new"), *on_optimisers().draw(tmp_path / "new")]
    assert [file.name for file in files] == [
        f"{name}.{kind}" for name in ("routes", "correlations", "rosenbrock") for kind in ("pdf", "svg")
    ]
    first = [file.read_bytes() for file in files]
    assert [file.read_bytes() for file in found.draw(tmp_path / "new")] == first[:2], "a figure can be made again"


def test_the_tables_have_the_numbers_of_the_documents(behavesim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "compare_measures", lambda: iter([on_optimisers().similarities]))
    laws = on_laws().rows
    monkeypatch.setattr(measures, "compare_stochastic", lambda: iter(laws))
    assert behavesim("study", "measures", "--json").document == on_optimisers().document()
    correlations, pairs = on_optimisers().tables()
    for name, column in (("kendall", 1), ("spearman", 2)):
        expected = {
            ", ".join(each["measures"]): each["value"] for each in on_optimisers().document()["correlations"][name]
        }
        assert {str(row[0]): row[column] for row in correlations.rows} == expected
    assert [row[0] for row in pairs.rows] == [f"{a}, {b}" for a, b in on_optimisers().pairs]
    assert "Nearest to CG: " in behavesim("study", "measures").out
    assert behavesim("study", "stochastic", "--json").document["rows"][0]["similarities"] == list(laws[0][2])
    assert StochasticStudy(laws).tables()[0].rows == tuple((name, how, *values) for name, how, values in laws)
    assert "fixed seed" in behavesim("study", "stochastic").out
