"""The study of results says of kept numbers what the report says of the runs."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

import numpy as np
import pytest
from behavesim_studies.results import draw_results, study, values_by_group

from behavesim.analysis.statistics import sample
from behavesim.analysis.table import Estimate
from behavesim.base.errors import UsageError
from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES

ROOT = Path(__file__).parents[2]


def test_kept_numbers_give_the_tests_of_the_report(behavesim: Command, tmp_path: Path) -> None:
    names = []
    for method in ("best-of-n", "hill-climbing"):
        for seed in (1, 2):
            names.append(f"{method}-{seed}")
            arguments = ("--method", method, "--budget", 8, "--seed", seed, "--set", "recommend=false")
            assert behavesim("run", FEW_CITIES, *arguments, "--name", names[-1]).code == 0
    assert behavesim("report", *names, "--csv", tmp_path).code == 0
    found = behavesim("study", "results", tmp_path / "runs.csv", "--json")
    assert found.code == 0, found.err
    ours = [test for tests in found.document["tests"].values() for test in tests]
    with (tmp_path / "tests.csv").open(newline="") as file:
        theirs = list(csv.DictReader(file))
    assert theirs
    for row, test in zip(theirs, ours, strict=True):
        assert (row["metric"], row["a"], row["b"]) == (test["metric"], test["a"], test["b"])
        assert [float(row[name]) for name in ("difference", "p", "p_holm")] == pytest.approx(
            [test[name] for name in ("difference", "p", "p_holm")]
        )
    assert "hill-climbing" in behavesim("study", "results", tmp_path / "runs.csv").out


def test_only_the_pairs_of_an_experiment_are_tested(behavesim: Command, tmp_path: Path) -> None:
    rows = [
        f"t,{group},{seed},{gap}" for group, gap in (("eoh", 0.1), ("niche", 0.2), ("reevo", "")) for seed in (1, 2, 3)
    ]
    kept, experiment = tmp_path / "runs.csv", tmp_path / "e.toml"
    kept.write_text("\n".join(["task,group,seed,best_gap", *rows]))
    named = 'methods = ["eoh", "niche", "reevo"]\ntests = [["eoh", "niche"], ["eoh", "reevo"]]'
    experiment.write_text(f'name = "e"\ntasks = ["tsp"]\nseeds = [1, 2, 3]\n{named}')
    document = behavesim("study", "results", kept, "--experiment", experiment, "--json").document
    assert [(test["a"], test["b"]) for test in document["tests"]["t"]] == [("eoh", "niche")]  # reevo has no value
    assert document["tests"]["t"][0]["difference"] == pytest.approx(-0.1)


@pytest.mark.parametrize(("runs", "shown"), [(3, [False] * 3), (5, [False, False, True]), (6, [True] * 3)])
def test_an_interval_of_few_runs_is_not_shown(tmp_path: Path, runs: int, shown: list[bool]) -> None:
    kept = tmp_path / "runs.csv"
    rows = [f"t,{group},{seed},0.{group}{seed}" for group in (1, 2) for seed in range(runs)]
    kept.write_text("\n".join(["task,group,seed,best_gap", *rows]))
    groups, tests = study(kept, None).tables()
    cells = [row[2] for row in groups.rows] + [row[3] for row in tests.rows]
    assert [isinstance(cell, Estimate) and cell.low is not None for cell in cells] == shown


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "task,group,seed,best_gap\n",
        "task,group,seed\nt,a,1\n",
        "task,group,seed,best_gap\nt,,1,0.1\n",
        "task,group\nt,a\n",
        "task,group,seed\nt,a\n",
        "task,group,seed,best_gap\nt,a,1,much\n",
    ],
)
def test_what_is_no_file_of_runs_is_refused(text: str | None, tmp_path: Path) -> None:
    kept = tmp_path / "runs.csv"
    if text is not None:
        kept.write_text(text)
    with pytest.raises(UsageError, match=r"runs\.csv"):
        study(kept, None)


def test_the_figure_shows_the_mean_gap_of_each_group(behavesim: Command, tmp_path: Path) -> None:
    kept = tmp_path / "runs.csv"
    kept.write_text("task,group,seed,best_gap\nt,a,1,0.1\nt,a,2,0.3\nt,b,1,\nu,b,1,0.05\n")
    of_t, of_u = draw_results({"t": {"a": [0.1, 0.3]}, "u": {"b": [0.05]}}).axes
    places = [[tuple(container.lines[0].get_xydata()[0]) for container in axes.containers] for axes in (of_t, of_u)]
    assert places == [[pytest.approx((20.0, 0))], [pytest.approx((5.0, 1))]]
    few, enough = draw_results({"t": {"a": [0.1, 0.2, 0.2, 0.3]}, "u": {"a": [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]}}).axes
    lengths = [np.ptp(axes.containers[0].lines[2][0].get_segments()[0][:, 0]) for axes in (few, enough)]
    assert lengths[0] == 0.0 < lengths[1]
    assert behavesim("study", "results", kept, "--figures", tmp_path / "figures").code == 0
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"results.pdf", "results.svg"}


def test_no_figure_is_drawn_without_a_known_gap(behavesim: Command, tmp_path: Path) -> None:
    kept = tmp_path / "runs.csv"
    kept.write_text("task,group,seed,best_score\nt,a,1,3.0\n")
    refused = behavesim("study", "results", kept, "--figures", tmp_path / "figures")
    assert refused.code == 2 and "no figure is drawn" in refused.err and not (tmp_path / "figures").exists()


def test_a_group_without_a_value_has_no_row_and_is_named_below(tmp_path: Path) -> None:
    kept = tmp_path / "runs.csv"
    kept.write_text("task,group,seed,best_gap\nt,eoh,1,0.1\nt,niche,1,\n")
    (table,) = study(kept, None).tables()
    assert [row[0] for row in table.rows] == ["eoh"]
    assert table.caption.endswith("; no value is known of niche")


def test_the_page_shows_the_kept_numbers() -> None:
    page = (ROOT / "docs/explanation/results.md").read_text()
    tables = {"tsp": "**Table 1.", "asp": "**Table 2.", "cpp": "**Table 3."}
    kept = study(ROOT / "experiments/results.csv", None).runs
    for task, heading in tables.items():
        table = page.partition(heading)[2].partition("\n**Table")[0]
        for group, of in values_by_group(kept, task).items():
            found = [sample([value for _, value in of[name]]) for name in ("best_gap", "top10_gap", "recommended_gap")]
            cells = [f"{100 * s.mean:.2f} ± {100 * (s.sd or 0):.2f}" for s in found]
            (row,) = (line for line in table.splitlines() if line.startswith(f"| {group} | "))
            assert [cell.partition(" [")[0] for cell in row.split(" | ")[1:4]] == cells


@pytest.mark.parametrize(
    ("plan", "metric"),
    [
        ("small-budgets", "held_out_gap"),
        ("small-budgets", "best_gap"),
        ("ended/draws", "held_out_recommended_gap"),
        ("islands-thirty", "held_out_recommended_gap"),
        ("rank", "held_out_recommended_gap"),
        ("race-eight", "held_out_recommended_gap"),
        ("race-eight", "shifted_recommended_gap"),
        ("shortlist", "behind"),
        ("instances", "held_out_gap"),
        ("instances", "held_out_best_gap"),
        ("tuned-thirty", "held_out_best_gap"),
        ("tuned-equal", "held_out_best_gap"),
        ("default", "held_out_recommended_gap"),
        ("default", "best_gap"),
    ],
)
def test_the_page_shows_the_verdict_of_a_plan(plan: str, metric: str) -> None:
    page = (ROOT / "docs/explanation/results.md").read_text()
    table = runpy.run_path(str(ROOT / "experiments/gaps.py"))["table"]
    assert "\n".join(table(plan, metric)) in page


def test_the_page_shows_the_gaps_with_two_thousand_candidates() -> None:
    page = (ROOT / "docs/explanation/results.md").read_text()
    with (ROOT / "experiments/long.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        unseen, best = (
            f"{100 * float(row[name]):.2f}" if row[name] else "–" for name in ("held_out_recommended_gap", "best_gap")
        )
        cells = next(line for line in page.splitlines() if line.startswith(f"| `{row['task']}` | ") and "," in line)
        assert f" {unseen}, {best} |" in cells


SCRIPTS = sorted(ROOT.glob("experiments/**/*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_script_beside_kept_results_can_be_imported_and_does_nothing_then(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(script.parent)
    monkeypatch.setattr("sys.argv", [str(script)])
    runpy.run_path(str(script), run_name="imported")
