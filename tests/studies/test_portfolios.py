"""The study of portfolios chooses and compares sets as its page says, by slow oracles on runs made for it."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from behavesim_studies.portfolio import PortfolioStudy, study
from behavesim_studies.portfolio_sets import (
    DONORS,
    DRAWS,
    Fresh,
    KeptRun,
    Losses,
    Ranking,
    ranking,
    read_runs,
    sets_of,
    to_stored,
    write_fresh,
    write_runs,
)

import behavesim as bs
from behavesim.base.errors import UsageError
from behavesim.code_similarity.text import subtree_distances
from behavesim.state.events import Evaluated
from tests.analysis.journals import PROVENANCE, asked, journalled, started
from tests.cli.command import Command

MEASURE = bs.BehaveSim(normaliser=50)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[bs.LoadedRun]:
    """Three runs of each of two methods, only to be looked at."""
    folder = tmp_path_factory.mktemp("runs")
    given = {"budget": 15, "proposer": "genetic", "recommend": False}
    return [
        bs.search_sync("tsp", **given, method=method, seed=seed, runs_dir=folder, name=f"{method}-{seed}")
        for method in ("best-of-n", "niche")
        for seed in (1, 2, 3)
    ]


def whole(run: KeptRun, instances: int = 5) -> Ranking:
    return ranking(run, 1 - MEASURE.per_instance(run.trajectories())[:instances], "minimise")


def names(programs: tuple[object, ...]) -> list[int]:
    return [program.candidate for program in programs]  # type: ignore[attr-defined]


def test_cleared_sets_are_those_that_are_shipped_and_prefixes_of_what_is_kept(runs: list[bs.LoadedRun]) -> None:
    for run in runs:
        found = whole(to_stored(run))
        cleared = found.of(found.cleared(found.distances))
        assert names(cleared) == [member.candidate for member in run.portfolio(10).members]
        assert found.programs[0].candidate == cleared[0].candidate


def test_what_is_kept_is_read_again(runs: list[bs.LoadedRun], tmp_path: Path) -> None:
    found = [to_stored(run) for run in runs]
    write_runs(tmp_path / "tsp.jsonl.xz", found)
    assert read_runs(tmp_path / "tsp.jsonl.xz") == found
    with pytest.raises(UsageError, match="no kept runs"):
        study(tmp_path / "elsewhere")


def test_circles_are_kept_to_a_millionth_and_chosen_as_they_are_shipped(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    packings = [np.tri(26)[:, :, None] * random.random((26, 3)) for _ in range(6)]
    packings.append(packings[0] + 1e-9 * np.tri(26)[:, :, None])  # a behaviour of its own, if not as it is kept
    done = [bs.Trajectory.vectors(packing.reshape(26, -1)) for packing in packings]
    evaluated = [
        Evaluated(number, f"x = {number}", 1.0 + number, (1.0 + number,), (each,), "", f"program {number}")
        for number, each in enumerate(done)
    ]
    events = [[*asked(number), each] for number, each in enumerate(evaluated)]
    beginning = started(PROVENANCE | {"direction": "maximise"}, task="cpp")[:1]
    run = journalled(tmp_path / "cpp", beginning, *events)
    write_runs(tmp_path / "cpp.jsonl.xz", [to_stored(run)])
    [found] = read_runs(tmp_path / "cpp.jsonl.xz")
    assert found == to_stored(run)
    for trajectories, before in zip(found.trajectories(), done, strict=True):
        assert np.abs(trajectories[0].data - before.data).max() < 1e-6
    ranked = ranking(found, 1 - run.measure().per_instance(found.trajectories()), "maximise")
    assert len(ranked.programs) == len(done)
    assert names(ranked.of(ranked.cleared(ranked.distances))) == [m.candidate for m in run.portfolio(10).members]


def test_greedy_sets_take_what_improves_the_best_on_each_instance_the_most(runs: list[bs.LoadedRun]) -> None:
    found = whole(to_stored(runs[0]), instances=2)
    assert found.costs.shape[1] == 2
    chosen = list(found.greedy())
    assert chosen[0] == int(found.costs.mean(axis=1).argmin())
    for place in range(1, len(chosen)):
        together = [found.costs[[*chosen[:place], other]].min(axis=0).mean() for other in range(len(found.programs))]
        free = [other for other in range(len(found.programs)) if other not in chosen[:place]]
        assert chosen[place] == min(free, key=lambda other: (together[other], other))


def test_texts_are_apart_by_the_subtrees_that_they_do_not_share(runs: list[bs.LoadedRun]) -> None:
    programs = to_stored(runs[0]).programs[:5]
    found = subtree_distances([program.source for program in programs])
    for row, one in enumerate(programs):
        for column, other in enumerate(programs):
            left, right = (
                Counter(ast.dump(n) for n in ast.walk(ast.parse(each.source)) if not isinstance(n, ast.expr_context))
                for each in (one, other)
            )
            assert found[row, column] == pytest.approx(1 - 2 * (left & right).total() / (left.total() + right.total()))


def test_ranks_that_a_run_does_not_have_are_its_last_free_ones(runs: list[bs.LoadedRun]) -> None:
    found = whole(to_stored(runs[0]))
    last = len(found.programs) - 1
    assert found.at((0, last + 5, last + 9, 3)) == (0, last, last - 1, 3)


def test_shuffled_distances_keep_the_ranks_and_nothing_else(runs: list[bs.LoadedRun]) -> None:
    found = whole(to_stored(runs[0]))
    draws = found.shuffled(7)
    assert len(draws) == DRAWS
    assert all(ranks[0] == 0 and list(ranks) == sorted(ranks) for ranks in draws)
    assert len(set(draws)) > 1
    assert draws == found.shuffled(7)


def fresh_of(runs: list[KeptRun], score: Callable[[str], list[float] | None]) -> Fresh:
    sources = {program.name for run in runs for program in (*run.programs, *run.best)}
    best = {run.best[0].name for run in runs}
    starts = {name: [[9.0, 8.0]] * 9 + [[5.0, 8.0]] for name in best}
    return Fresh(
        [9.0, 9.0], [4.0, 5.0], {name: score(name) for name in sorted(sources)}, starts,
        {name: [6.0, 6.0] for name in best}, dict.fromkeys(best, 0.5),
    )  # fmt: skip


def test_the_loss_of_a_set_is_that_of_its_best_on_each_instance(runs: list[bs.LoadedRun], tmp_path: Path) -> None:
    made = [to_stored(run) for run in runs]
    random = np.random.default_rng(3)
    fresh = fresh_of(made, lambda name: None if name < "2" else random.uniform(5, 9, 2).tolist())
    write_runs(tmp_path / "tsp.jsonl.xz", made)
    write_fresh(tmp_path / "tsp.fresh.json.xz", fresh)
    found = study(tmp_path)
    sets = sets_of(made[:3], MEASURE, "minimise")
    assert [len(each["same ranks"]) for each in sets] == [min(DONORS, 2)] * 3
    for losses, chosen in zip(found.runs[:3], sets, strict=True):
        for name, drawn in chosen.items():
            expected = []
            for programs in drawn:
                scores = [fresh.scores[program.name] or fresh.template for program in programs[:3]]
                best = [min(column) for column in zip(*scores, strict=True)]
                expected.append(np.mean([best[0] / 4 - 1, best[1] / 5 - 1]))
            assert losses.sets[name][2] == pytest.approx(np.mean(expected))
        assert losses.sets["starts"][8:] == pytest.approx(((9 / 4 + 8 / 5) / 2 - 1, (5 / 4 + 8 / 5) / 2 - 1))
        assert losses.sets["2-opt"] == pytest.approx(((6 / 4 + 6 / 5) / 2 - 1,) * 10)


def test_tests_are_corrected_for_those_on_their_task_and_for_all() -> None:
    curve = (0.5,) * 10
    better = [
        Losses(
            task,
            method,
            seed,
            {"cleared": curve, "by score": tuple(0.5 + (seed + sign) / 100 for _ in curve)},
            10,
            None,
        )
        for task, sign in (("asp", 1), ("tsp", 2))
        for method in ("funsearch", "niche")
        for seed in range(6)
    ]
    found = PortfolioStudy(tuple(better)).primary()
    assert [each.comparison.difference.p for each in found] == pytest.approx([2 / 64] * 4)
    assert [each.p_task for each in found] == pytest.approx([2 * 2 / 64] * 4)
    assert [each.p_holm for each in found] == pytest.approx([4 * 2 / 64] * 4)


def test_losses_that_only_rounding_tells_apart_are_equal() -> None:
    drawn_once, drawn_often = 0.1, float(np.mean([0.1] * 20))
    assert drawn_once != drawn_often
    equal = [
        Losses("tsp", method, seed, {"cleared": (drawn_once,) * 10, "by score": (drawn_often,) * 10}, 10, None)
        for method in ("funsearch", "niche")
        for seed in range(3)
    ]
    for tested in PortfolioStudy(tuple(equal)).primary():
        assert (tested.comparison.better, tested.comparison.equal, tested.comparison.worse) == (0, 3, 0)


def test_tests_are_paired_by_seed_and_corrected_together(
    runs: list[bs.LoadedRun], behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim_studies.portfolio.PRIMARY", ("best-of-n", "niche"))
    made = [to_stored(run) for run in runs]
    random = np.random.default_rng(4)
    write_runs(tmp_path / "tsp.jsonl.xz", made)
    write_fresh(tmp_path / "tsp.fresh.json.xz", fresh_of(made, lambda name: random.uniform(5, 9, 2).tolist()))
    found = study(tmp_path)
    primary = found.primary()
    assert len(primary) == 16
    few = {"greedy at 1": "cleared at 1", "greedy at 2": "cleared at 2"}
    for tested in primary:
        each = tested.comparison
        assert each.ours.name == few.get(each.other.name, "cleared")
        differences = [
            np.mean([
                run.sets[each.other.name][each.programs - 1] - run.sets[each.ours.name][each.programs - 1]
                for run in found.runs if run.seed == seed
            ])
            for seed in (1, 2, 3)
        ]  # fmt: skip
        assert each.difference.mean == pytest.approx(np.mean(differences))
        assert (each.better, each.equal, each.worse) == tuple(
            sum(np.sign(np.round(differences, 11)) == s) for s in (1, 0, -1)
        )
        assert tested.p_holm == tested.p_task >= each.difference.p  # type: ignore[operator]
    shown = behavesim("study", "portfolio", tmp_path, "--json")
    assert shown.code == 0, shown.err
    assert json.loads(json.dumps(shown.document))["primary"][0]["programs"] == 3
    tested, beside, curves, origins = found.tables()
    assert [row[-2:] for row in tested.rows] == [(each.p_task, each.p_holm) for each in primary]
    assert len(beside.rows) == len(found.beside())
    assert {row[1] for row in curves.rows} >= {"cleared", "2-opt"}
    assert sum(row[2] for row in origins.rows) == len(made)
    assert "16 tests corrected together" in behavesim("study", "portfolio", tmp_path).out
