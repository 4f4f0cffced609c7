"""The study of sets: what it keeps of runs, its losses and tests, and what so many seeds can show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from behavesim_studies.sets import (
    AGAINST,
    PLANNED,
    SIZES,
    TOP,
    WORK,
    KeptPrograms,
    KeptSets,
    ScoresOnSplit,
    SetRun,
    detectable,
    draw_sets,
    read_kept,
    read_programs,
    sets_of,
    study,
    write_stored,
)

import behavesim as bs
from behavesim.analysis.statistics import signed_rank
from behavesim.base.errors import UsageError
from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES

KEYS = [f"p{number}" for number in range(10)]


def kept(folder: Path, seeds: int = 8, direction: str = "minimise") -> KeptSets:
    """Made-up runs of two labels, written to a folder."""
    random = np.random.default_rng(5)
    runs = tuple(
        SetRun(label, seed, {way: tuple(random.permutation(KEYS).tolist()) for way in ("own", "cleared")})
        for label in ("set-search", "niche")
        for seed in range(seeds)
    )
    scores = {key: random.uniform(2, 9, 3).round(3).tolist() for key in KEYS}
    begun = {key: random.uniform(2, 9, (TOP, 3)).round(3).tolist() for key in KEYS}
    improved = {key: random.uniform(1, 9, 3).round(3).tolist() for key in KEYS}
    tried = ScoresOnSplit([8.0, 8.0, 8.0], {**scores, "p3": None}, begun, improved, {key: begun[key] for key in KEYS})
    made = KeptSets("tsp", direction, runs, {"held-out": tried})  # type: ignore[arg-type]
    write_stored(folder / "tsp.sets.json.xz", made)
    return made


@pytest.mark.parametrize("direction", ["minimise", "maximise"])
def test_the_loss_of_a_set_is_that_of_its_best_on_each_instance(tmp_path: Path, direction: str) -> None:
    made = kept(tmp_path, direction=direction)
    assert list(read_kept(tmp_path)) == [made]
    tried, best = made.splits["held-out"], max if direction == "maximise" else min
    anything = [tried.template, *filter(None, tried.scores.values()), *tried.improved.values()]
    anything += [row for rows in tried.begun.values() for row in rows]
    reference = [best(column) for column in zip(*anything, strict=True)]

    def loss(rows: list[list[float]]) -> float:
        found = [best(column) for column in zip(*rows, strict=True)]
        return float(np.mean([abs(one - other) / other for one, other in zip(found, reference, strict=True)]))

    tests = {(each.programs, each.other): each for each in study(tmp_path).tests}
    assert tests.keys() == {(size, name) for size in SIZES for name in ("niche, cleared", *WORK)}
    ours = {run.seed: run.sets["own"] for run in made.runs if run.label == "set-search"}
    theirs = {run.seed: run.sets["cleared"] for run in made.runs if run.label == "niche"}
    for size in SIZES:
        rows = {
            "niche, cleared": lambda seed, k: [tried.scores[key] or tried.template for key in theirs[seed][:k]],
            "best, k starts": lambda seed, k: tried.begun[ours[seed][0]][:k],
            "k/2, two starts": lambda seed, k: [row for key in ours[seed][: k // 2] for row in tried.begun[key][:2]],
            "best, improved": lambda seed, k: [tried.improved[ours[seed][0]]],
            "set, improved": lambda seed, k: [tried.improved[key] for key in ours[seed][:k]],
        }
        base = [loss([tried.scores[key] or tried.template for key in ours[seed][:size]]) for seed in range(8)]
        for name, of in rows.items():
            others = [loss(of(seed, size)) for seed in range(8)]
            found = tests[size, name]
            gains = np.round(np.subtract(others, base), 12)
            assert (found.our_loss, found.other_loss) == pytest.approx((np.mean(base), np.mean(others)))
            assert found.difference.p == pytest.approx(signed_rank(gains.tolist()))
            assert (found.better, found.equal, found.worse) == tuple(
                int((np.sign(gains) == s).sum()) for s in (1, 0, -1)
            )


def test_tests_are_corrected_for_all_of_the_protocol_and_shown(tmp_path: Path, behavesim: Command) -> None:
    kept(tmp_path)
    found = study(tmp_path)
    least = min(found.tests, key=lambda each: each.difference.p or 1)
    assert least.difference.p is not None and least.p_holm == min(1, least.difference.p * PLANNED)
    document = behavesim("study", "sets", tmp_path, "--json").document
    assert len(document["tests"]) == len(found.tests) == len(SIZES) * (1 + len(WORK))
    assert json.loads(json.dumps(document))["seeds"] == 8
    assert "tsp, held-out instances" in behavesim("study", "sets", tmp_path).out
    with pytest.raises(UsageError, match="no kept sets"):
        study(tmp_path / "none")


def test_the_figure_has_each_difference_of_the_largest_sets_filled_if_it_is_significant(tmp_path: Path) -> None:
    kept(tmp_path)
    tests = [each for each in study(tmp_path).tests if each.programs == max(SIZES)]
    told = [replace(each, p_holm=0.01 if number == 2 else None) for number, each in enumerate(tests)]
    (panel,) = draw_sets(told).axes
    marks = [container.lines[0] for container in panel.containers]
    assert [float(mark.get_xdata()[0]) for mark in marks] == pytest.approx([100 * t.difference.mean for t in tests])
    assert [mark.get_markerfacecolor() != "white" for mark in marks] == [number == 2 for number in range(len(tests))]
    assert [label.get_text() for label in panel.get_yticklabels()] == [each.other for each in tests]


def test_the_figure_is_written_beside_the_tables(tmp_path: Path, behavesim: Command) -> None:
    kept(tmp_path)
    told = behavesim("study", "sets", tmp_path, "--figures", tmp_path / "figures")
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"sets.pdf", "sets.svg"}
    assert "sets.svg" in told.err and "difference" in told.out


def test_more_seeds_show_smaller_differences_and_too_few_show_none() -> None:
    assert detectable(5, 1) is None  # the smallest p of five pairs is 1/16
    assert detectable(8, 10) is None
    found = [detectable(seeds, 10) or 0.0 for seeds in (12, 20, 40)]
    assert found == sorted(found, reverse=True) and found[-1] > 0.0
    assert (detectable(20, 1) or 9.0) < (detectable(20, 100) or 0.0)
    assert detectable(20, 1) == pytest.approx(0.66, abs=0.06)  # 2.8 / √20, and a little more for ranks


def test_of_a_run_all_ways_to_choose_are_kept(tmp_path: Path) -> None:
    given = {"budget": 20, "proposer": "genetic", "recommend": False, "seed": 1, "runs_dir": tmp_path}
    run = bs.search_sync(FEW_CITIES, method="set-search", set_size=3, **given)
    found = sets_of(run)
    assert found["own"] == [run.candidate(each).source for each in run.state.groups["set"].members]
    assert found["by score"] == [each.source for each in run.ranked()[:TOP]]
    assert [len(set(each)) == len(each) <= TOP for each in found.values()] == [True] * 4
    scores = {each.source: each.scores for each in run.feasible}
    best = min(run.feasible, key=lambda each: each.score or 0)
    assert scores[found["greedy"][0]] == best.scores
    after = [np.minimum(best.scores, each.scores).mean() for each in run.feasible]
    assert np.minimum(best.scores, scores[found["greedy"][1]]).mean() == min(after)


def test_the_experiment_makes_the_groups_that_the_study_compares() -> None:
    import tomllib

    file = tomllib.loads((Path(__file__).parents[2] / "experiments/sets.toml").read_text())
    labels = {*file["methods"], *(variant["name"] for variant in file["variant"])}
    assert {label for label, _ in AGAINST} | {"set-search"} == labels
    seeds = [seed for each in file["seeds"].values() for seed in each]
    assert len(seeds) == len(set(seeds)) == 100


def test_programs_are_kept_apart_from_their_scores(tmp_path: Path) -> None:
    runs = (SetRun("set-search", 1, {"own": ("p1", "p2")}),)
    programs = KeptPrograms("tsp", runs, {"p1": "def f():\n    return '\u2028'", "p2": ""})
    write_stored(tmp_path / "tsp.programs.json.xz", programs)
    assert read_programs(tmp_path / "tsp.programs.json.xz") == programs
    with pytest.raises(UsageError, match=r"tables\.py makes it of finished runs"):
        read_programs(tmp_path / "asp.programs.json.xz")
