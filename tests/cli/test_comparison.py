"""Comparing runs and trying programs on held-out instances, from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from behavesim_cli.output import Output

import behavesim as bs
from tests.analysis.journals import PROVENANCE, feasible, started, stopped, write
from tests.cli.command import Command


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs, only to be copied."""
    runs = tmp_path_factory.mktemp("runs")
    for name, method in (("first", "funsearch+behavesim"), ("eoh", "eoh")):
        given = {"proposer": "genetic", "budget": 3, "fresh_evaluations": 3, "runs_dir": runs}
        bs.search_sync("tsp", method=method, name=name, **given)
    return runs


@pytest.fixture
def two(behavesim: Command, runs: Path) -> Command:
    """The command beside two finished runs, `first` and `eoh`."""
    shutil.copytree(runs, "runs")
    return behavesim


def test_the_tables_of_a_report_are_printed_for_a_paper_and_for_a_page(two: Command) -> None:
    shown = two("report", "first", "eoh", "--latex").out
    assert shown.startswith("% \\usepackage{booktabs}")
    assert shown.count("\\begin{tabular}") == shown.count("\\bottomrule") > 4
    assert "### comparison on tsp: what was found" in two("report", "first", "eoh", "--markdown").out
    assert two("report", "eoh", "--latex", "--json").code == 2


def test_two_runs_are_compared_and_their_programs_tried_on_held_out_instances(two: Command, tmp_path: Path) -> None:
    ended = two("report", "first", "eoh", "--held-out", "--csv", "tables", "--json")
    assert ended.code == 0
    (entry,) = ended.document["comparison"]
    assert [group["label"] for group in entry["groups"]] == ["funsearch+behavesim", "eoh"]
    assert {path.name for path in (tmp_path / "tables").iterdir()} >= {
        "runs.csv", "convergence.csv", "diversity.csv", "top.csv", "islands.csv", "clusters.csv", "held_out.csv",
        "groups.csv", "groups_over_time.csv", "tests.csv", "recommended_vs_best.csv",
    }  # fmt: skip
    for run in ended.document["runs"]:
        held_out = run["held_out"]
        assert held_out["template"]["gap"] == pytest.approx(0.2419, abs=1e-4)
        tried = {program["candidate"]: program for program in held_out["programs"]}
        assert run["top"][0]["candidate"] in tried
        tried[-1] = held_out["template"]
        assert held_out["recommended"]["gap"] == tried[run["recommended"]["candidate"]]["gap"]
        assert held_out["best"]["improvement"] == tried[run["best"]["candidate"]]["improvement"]

    kept = tmp_path / "runs/eoh/held-out.json"
    known = json.loads(kept.read_text())
    known["scores"] = {name: [2 * score, scores] for name, (score, scores) in known["scores"].items()}
    kept.write_text(json.dumps(known))
    (again,) = two("report", "eoh", "--held-out", "--json").document["runs"]
    assert again["held_out"]["template"]["score"] == 2 * held_out["template"]["score"]  # it was not found out anew
    kept.write_text("{")
    (mended,) = two("report", "eoh", "--held-out", "--json").document["runs"]
    assert mended["held_out"] == held_out

    shutil.copytree(tmp_path / "runs/eoh", tmp_path / "runs/copy")
    copied = two("report", "first", "eoh", "copy", "--json")
    assert two("report", "copy", "copy", "--json").document["runs"] == copied.document["runs"][-1:]
    assert copied.err == "behavesim: repeats of another run with equal settings, and counted once: copy\n"
    assert [group["runs"] for group in copied.document["comparison"][0]["groups"]] == [["first"], ["eoh"]]

    assert "comparison on tsp" in two("report", "first", "eoh").out
    assert "on held-out instances" in two("report", "eoh", "--only", "held-out").out  # as they were tried before


def test_forks_of_a_run_and_of_a_fork_have_its_beginning(finished: Command) -> None:
    for run, fork, budget in (("first", "second", 13), ("second", "third", 14)):
        assert finished("resume", run, "--fork", fork, "--budget", budget, "--set", "recommend=false").code == 0
    assert len({bs.load_run(Path("runs", name)).beginning for name in ("first", "second", "third")}) == 1
    assert "forked from second" in Path("runs/third/log.txt").read_text()


def test_runs_that_do_not_belong_together_are_told_apart(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    elsewhere = PROVENANCE | {"instances": "another hash"}
    program = feasible(0, 5.0)
    for name, origin, seed, reason in (
        ("done", PROVENANCE, 0, "budget"),
        ("again", PROVENANCE, 1, "budget"),
        ("cut", PROVENANCE, 2, "interrupted"),
        ("other", elsewhere, 0, "budget"),
    ):
        write(Path("runs", name), started(origin, seed=seed), program, stopped(reason))
    mixed = behavesim("report", "done", "again", "cut", "other", "--json")
    assert mixed.code == 0
    assert "unfinished, and left out of tests and ranks: cut\n" in mixed.err
    assert "not compared with one another: tsp (instances 2), tsp (instances another )\n" in mixed.err
    assert mixed.document["untested"] == ["cut"]
    assert "unfinished" not in behavesim("report", "done", "again", "cut", "--unfinished", "--json").err
    refused = behavesim("recommend", "done", "other", "--portfolio", "2")
    assert refused.code == 2
    assert "on different instances of tsp" in refused.err and "other (another )" in refused.err
    assert not Path("runs/done/portfolio.py").exists()


def test_what_takes_a_while_is_said_on_a_terminal(finished: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Output, "isatty", lambda self: self.fileno() == 2)
    assert finished("report", "first").err == "behavesim: reading first …\n"
    assert finished("recommend", "first").err.startswith("behavesim: trying the best programs of first on instances")
    compared = finished("compare", "tsp", "template", "template")
    assert compared.err == "behavesim: trying template, template on search instances …\n"
    tried = finished("evaluate", "tsp", "template", "--set", "timeout_s=20").err
    limit = "each at most 20 s of CPU time (timeout_s) and 42 s by the clock"
    assert " ".join(tried.split()) == f"behavesim: trying template on search instances, {limit} …"
    assert max(map(len, tried.splitlines())) <= 80
