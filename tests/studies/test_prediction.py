"""The study of prediction computes what it says, by slow oracles on a run written out by hand."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from behavesim_studies.prediction import TARGETS, PredictionStudy, _targets, prediction, read_study

import behavesim as bs
from behavesim.base.errors import UsageError
from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES


def test_targets_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    costs = rng.uniform(5, 9, (6, 4))
    rows, columns = np.triu_indices(6, 1)
    found = _targets(costs, rows, columns)
    relative = costs / costs.mean(axis=0)
    for place, (i, j) in enumerate(combinations(range(6), 2)):
        a, b = relative[i], relative[j]
        assert found["score alike"][place] == pytest.approx(-abs(a.mean() - b.mean()))
        assert found["fail alike"][place] == pytest.approx(np.corrcoef(a, b)[0, 1])
        best = [min(x, y) for x, y in zip(a, b, strict=True)]
        assert found["nothing added"][place] == pytest.approx(np.mean(best) - min(a.mean(), b.mean()))
        assert found["nothing added"][place] <= 1e-12


def test_a_run_is_asked_about_its_programs_on_held_out_instances(behavesim: Command, tmp_path: Path) -> None:
    for seed in (1, 2):
        arguments = ("--method", "best-of-n", "--budget", 10, "--seed", seed, "--set", "recommend=false")
        assert behavesim("run", FEW_CITIES, *arguments, "--name", f"s{seed}").code == 0
    found = behavesim("study", "prediction", "s1", "s2", "--json")
    assert found.code == 0, found.err
    document = found.document
    assert [run["run"] for run in document["runs"]] == ["s1", "s2"]
    assert all(run["pairs"] == run["programs"] * (run["programs"] - 1) // 2 for run in document["runs"])
    metrics = list(document["milliseconds"])
    assert metrics[:2] == ["behavesim", "scores"]
    assert len(document["rows"]) == 2 * len(TARGETS) * len(metrics)
    assert all(-1 <= row["correlation"]["mean"] <= 1 for row in document["rows"])
    assert "pairs of equal score" in behavesim("study", "prediction", "s1").out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> bs.LoadedRun:
    given = {"budget": 12, "method": "best-of-n", "proposer": "genetic", "recommend": False}
    return bs.search_sync(FEW_CITIES, **given, runs_dir=tmp_path_factory.mktemp("runs"))


def test_means_and_differences_are_over_runs(run: bs.LoadedRun) -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(5)
    unseen = {each.source or "": rng.uniform(5, 9, 14).tolist() for each in run.feasible}
    one = prediction(run, unseen)
    study = PredictionStudy((one, one))
    found = study.sample("ast", "fail alike", False)
    assert found is not None
    assert found.mean == one.correlation("ast", "fail alike", False)
    ahead = study.ahead("ast", "fail alike", False)
    ours = one.correlation("behavesim", "fail alike", False)
    assert ahead is not None
    assert ahead.mean == pytest.approx(ours - one.correlation("ast", "fail alike", False))
    programs = [each for each in run.ranked()[:100] if each.source in unseen]
    rows, columns = np.triu_indices(len(programs), 1)
    matrix = run.matrix([each.candidate for each in programs])
    held_out = np.array([unseen[each.source or ""] for each in programs])
    truth = _targets(held_out, rows, columns)["fail alike"]
    assert ours == pytest.approx(spearmanr(matrix[rows, columns], truth).statistic)


def test_a_document_gives_the_same_study_again(run: bs.LoadedRun, tmp_path: Path) -> None:
    unseen = {each.source or "": [float(len(each.source or "")), float(each.candidate)] for each in run.feasible}
    made, file = PredictionStudy((prediction(run, unseen),)), tmp_path / "kept.json"
    file.write_text(json.dumps(made.document()))
    assert read_study(file) == made
    assert read_study(file).tables() == made.tables()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"runs": []}', '{"runs": [{"run": "s1"}]}', '{"runs": 3}', "\x00"])
def test_another_document_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text(text)
    with pytest.raises(UsageError, match="is not what `behavesim study prediction --json` prints"):
        read_study(tmp_path / "kept.json")


def test_the_study_of_the_pages_runs_is_kept(behavesim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    found = behavesim("study", "prediction", "--json").document
    assert [sum(run[of] for run in found["runs"]) for of in ("programs", "pairs", "equal_pairs")] == [
        1000,
        49500,
        21124,
    ]
    means = {tuple(row.values())[:3]: row["correlation"]["mean"] for row in found["rows"]}
    assert means["behavesim", "fail alike", True] == pytest.approx(0.614287)


def test_without_runs_and_the_kept_study_runs_are_asked_for(behavesim: Command) -> None:
    found = behavesim("study", "prediction")
    assert (found.code, found.out) == (2, "") and "name runs" in found.err


def test_what_cannot_be_correlated_is_unknown_and_too_few_programs_are_said(run: bs.LoadedRun) -> None:
    alike = {each.source or "": [7.0] * 14 for each in run.feasible}
    study = PredictionStudy((prediction(run, alike),))
    assert study.sample("behavesim", "score alike", False) is None
    assert study.ahead("ast", "score alike", False) is None
    assert all(row["correlation"] is None for row in study.document()["rows"] if row["target"] == "score alike")
    assert len(study.tables()) == 3
    with pytest.raises(UsageError, match="two or more"):
        prediction(run, dict(list(alike.items())[:1]))
