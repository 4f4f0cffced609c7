"""Reports as CSV files."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from behavesim.analysis.behaviours import TopProgram
from behavesim.analysis.candidate_details import RejectionReason
from behavesim.analysis.comparison import comparison
from behavesim.analysis.convergence import Checkpoint
from behavesim.analysis.held_out import HeldOutMean
from behavesim.analysis.metrics import METRICS
from behavesim.analysis.report import RunReport
from behavesim.base.errors import UsageError
from behavesim.base.tokens import Spending
from behavesim.reports.files import write_csv
from tests.analysis.examples import grid, made, tried

Files = dict[str, list[dict[str, str]]]


def written(folder: Path, *runs: RunReport) -> Files:
    write_csv(comparison(runs), folder)
    return {path.stem: list(csv.DictReader(path.open())) for path in folder.iterdir()}


def test_files_hold_every_row(tmp_path: Path) -> None:
    rows = written(tmp_path / "new" / "tables", *grid())
    assert len(rows["runs"]) == len(rows["convergence"]) == len(rows["diversity"]) / 2 == 36
    assert {row["group"] for row in rows["groups"]} == {"eoh", "niche", "best-of-n"}
    assert {row["p_holm"] for row in rows["tests"] if row["metric"] == "best_gap"} != {""}
    assert [row["registered"] for row in rows["groups_over_time"][:2]] == ["10", "20"]


def test_runs_of_one_name_in_two_folders_keep_their_groups(tmp_path: Path) -> None:
    first, second = made("eoh", 0, 0.1), made("niche", 0, 0.2)
    summary = replace(second.summary, run=first.summary.run)
    second = replace(second, summary=summary, origin=replace(second.origin, folder=Path("others")))
    rows = written(tmp_path, first, second)["runs"]
    assert [(row["run"], row["group"]) for row in rows] == [("runs", "eoh"), ("others", "niche")]


def test_of_one_run_there_are_the_tables_that_have_rows_and_no_empty_file(tmp_path: Path) -> None:
    (tmp_path / "tests.csv").write_text("of an earlier report")
    named = write_csv(comparison([made("eoh", 0, 0.1)]), tmp_path)
    assert named == ["runs.csv", "convergence.csv", "diversity.csv"]
    assert sorted(named) == sorted(path.name for path in tmp_path.iterdir())


def test_numbers_are_as_they_are_and_the_unknown_is_empty(tmp_path: Path) -> None:
    first, second = written(tmp_path, made("eoh", 0, None), made("eoh", 1, 0.123456789))["runs"]
    assert second["best_gap"] == "0.123456789"
    assert (first["best_gap"], first["best_score"], first["best_candidate"], first["cost_usd"]) == ("", "", "", "")
    assert (first["rejected"], first["prompt_tokens"], first["distinct_programs"]) == ("0", "5", "90")


def test_what_was_estimated_has_columns_of_its_own_and_no_cell_holds_a_value_of_python(tmp_path: Path) -> None:
    spending = Spending(calls=3, prompt=70, completion=30, estimated=2, cost_usd=0.5)
    runs = grid(seeds=2)
    runs[0] = replace(runs[0], summary=replace(runs[0].summary, estimated=spending, rejected={"timeout": 2}))
    files = written(tmp_path, *runs)
    first, second = files["runs"][:2]
    names = ("prompt_tokens", "completion_tokens", "replies", "cost_usd")
    assert [first[f"estimated_{name}"] for name in names] == ["70", "30", "2", "0.5"]
    assert {second[f"estimated_{name}"] for name in names} == {""}
    cells = [cell for rows in files.values() for row in rows for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("{", "[", "("))]


def test_a_run_has_a_column_for_every_metric(tmp_path: Path) -> None:
    (row,) = written(tmp_path, made("eoh", 0, 0.1))["runs"]
    assert {metric.name for metric in METRICS} <= row.keys()


def test_each_table_of_a_run_is_a_file_with_its_name_in_front(tmp_path: Path) -> None:
    run = made("eoh", 0, 0.1)
    origin = ("0", "improve", "m", (4, 5))
    top = (TopProgram(7, 2.5, None, "x = 1\n\n", 3, *origin, standard_error=0.5, instances=9),)
    failures = (RejectionReason("evaluation", "timeout", 3, 0.25, 4, "it took, well, too long"),)
    rows = written(tmp_path, replace(run, top=top, failures=failures))
    assert rows["top"] == [
        {
            **{
                "run": "eoh-0-",
                "score_source": "trusted",
                "rank": "1",
                "candidate": "7",
                "score": "2.5",
                "gap": "",
                "standard_error": "0.5",
                "instances": "9",
                "cluster": "",
                "programs": "3",
            },
            **{"lines": "1", "island": "0", "operator": "improve", "model": "m", "parents": "4 5"},
        }
    ]
    assert rows["failures"][0]["share"] == "0.25"
    assert rows["failures"][0]["example"] == "it took, well, too long"


def test_choices_and_tests_name_their_metric(tmp_path: Path) -> None:
    runs = [tried(made("eoh", seed, 0.1), HeldOutMean(0.5, 0.3), HeldOutMean(0.75, 0.2)) for seed in range(3)]
    rows = written(tmp_path, *runs)
    assert [row["metric"] for row in rows["recommended_vs_best"]] == [
        "held_out_gap_advantage",
        "held_out_gain_advantage",
    ]
    assert rows["recommended_vs_best"][1]["mean"] == "0.25"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--csv"):
        write_csv(comparison([]), tmp_path / "file")


def test_the_convergence_has_a_row_for_every_moment(tmp_path: Path) -> None:
    moments = (Checkpoint(1, None, None, None), Checkpoint(2, 5.0, 1.5, 1.25))
    rows = written(tmp_path, replace(made("eoh", 0, 0.1), convergence=moments))["convergence"]
    of = {"run": "eoh-0-", "score_source": "trusted"}
    assert rows == [
        {**of, "asked": "1", "score": "", "gap": "", "top10_gap": ""},
        {**of, "asked": "2", "score": "5.0", "gap": "1.5", "top10_gap": "1.25"},
    ]
