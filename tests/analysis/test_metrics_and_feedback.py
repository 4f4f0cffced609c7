"""Metrics and feedback in everything that shows a run: views of the journal, tables, files and documents."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.analysis.candidate_details import candidate_details
from behavesim.analysis.comparison import comparison
from behavesim.analysis.difference import program_difference
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.reports.files import LINES, json_document, tables_of, write_csv, write_export
from behavesim.reports.sections import run_sections
from tests.analysis.journals import PROVENANCE, feasible, journalled, rejected, started, told

CLAIMED = PROVENANCE | {"score_source": "self-reported", "behaviour": "calls"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return journalled(
        tmp_path / "told",
        started(CLAIMED),
        told(feasible(0, 3.0), "as expected", speed=2.5, error="nan"),
        told(feasible(1, 2.5, [3, 2, 1, 0]), speed=1.0, size=7.0),
        told(rejected(2, "evaluator", "too slow"), "a traceback", speed=0.25),
    )


def test_the_view_of_metrics_has_a_row_for_each(run: Run) -> None:
    with closing(sqlite3.connect(run.folder.journal)) as db:
        rows = db.execute("SELECT * FROM metrics").fetchall()
        assert rows == [
            (0, "speed", 2.5, None),
            (0, "error", None, "nan"),
            (1, "speed", 1.0, None),
            (1, "size", 7.0, None),
            (2, "speed", 0.25, None),
        ]
        found = db.execute("SELECT candidate, reason, feedback FROM candidates").fetchall()
        assert found == [(0, None, "as expected"), (1, None, ""), (2, "evaluator", "a traceback")]


def test_a_data_frame_has_a_column_for_each_metric(run: Run) -> None:
    pytest.importorskip("pandas")
    frame = run.to_pandas()
    assert frame["metrics.speed"].tolist()[:2] == [2.5, 1.0]
    assert frame["metrics.error"][0] == "nan"
    assert frame["feedback"].tolist() == ["as expected", "", "a traceback"]
    assert "metrics" not in frame


def test_a_metric_that_is_called_as_the_score_is_drawn_beside_it(tmp_path: Path) -> None:
    found = report(journalled(tmp_path / "run", started(), told(feasible(0, 3.0), score=-7.0)))
    (section,) = run_sections(found, {}, ["metrics"])
    (chart,) = section.charts
    labels = chart.spec["params"][0]["bind"]["labels"]
    assert labels == ["score", "metric score", "CPU time (s)"]
    (point,) = chart.spec["data"]["values"]
    assert (point["metric0"], point["metric1"]) == (3.0, -7.0)


def test_the_lines_of_an_export_have_them_by_name(run: Run, tmp_path: Path) -> None:
    write_export(run, tmp_path / "out")
    lines = [json.loads(line) for line in (tmp_path / "out" / LINES).read_text().splitlines()]
    assert {line["score_source"] for line in lines} == {"self-reported"}
    assert (tmp_path / "out/00001.py").read_text().startswith("# run told, candidate 1: score 2.5, self-reported, gap ")
    assert [line["metrics"] for line in lines] == [
        {"speed": 2.5, "error": "nan"},
        {"speed": 1.0, "size": 7.0},
        {"speed": 0.25},
    ]


def test_files_have_a_column_for_each_metric_and_say_whose_the_scores_are(run: Run, tmp_path: Path) -> None:
    other = journalled(tmp_path / "other", started(seed=8), told(feasible(0, 3.0), other=1.0))
    assert "metrics.csv" in write_csv(comparison([report(run), report(other)]), tmp_path / "csv")
    with (tmp_path / "csv/metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["run"], row["metrics.speed"], row["metrics.error"], row["metrics.other"]) for row in rows] == [
        ("told", "1.0", "", ""),
        ("told", "2.5", "nan", ""),
        ("other", "", "", "1.0"),
    ]
    for path in (tmp_path / "csv").glob("*.csv"):
        with path.open() as file:
            sources = [row["score_source"] for row in csv.DictReader(file)]
        assert set(sources) <= {"self-reported", "trusted"} and sources[0] == "self-reported", path.name


def test_documents_have_metrics_and_the_source_of_scores(run: Run) -> None:
    (found,) = json_document(comparison([report(run)]))["runs"]
    assert (found["score_source"], found["behaviour"]) == ("self-reported", "calls")
    assert program_difference(run, 0, 1).score_source == "self-reported"
    assert ", self-reported" in repr(run)
    assert [each["metrics"] for each in found["top"]] == [{"speed": 1.0, "size": 7.0}, {"speed": 2.5, "error": "nan"}]
    shown = candidate_details(run, 2).document()
    assert (shown["metrics"], shown["feedback"]) == ({"speed": 0.25}, "a traceback")
    assert shown["score_source"] == "self-reported"


def test_a_run_without_metrics_has_no_table_of_them(tmp_path: Path) -> None:
    plain = report(journalled(tmp_path / "plain", started(), feasible(0, 3.0)))
    assert "metrics" not in [table.name for table in tables_of(plain)]
    assert (plain.summary.score_source, plain.summary.behaviour) == ("trusted", "trajectory")
