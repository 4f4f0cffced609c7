"""A run's report as a whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from behavesim.analysis.behaviours import Clustering, clustering, distinct, top
from behavesim.analysis.candidate_details import failures
from behavesim.analysis.comparison import comparison
from behavesim.analysis.convergence import convergence, diversity, diversity_over_time, islands
from behavesim.analysis.report import Origin, report
from behavesim.analysis.run import Run
from behavesim.analysis.summary import summary
from behavesim.reports.comparison_sections import FIRST_SECTIONS, comparison_sections
from behavesim.reports.files import json_document, tables_of
from tests.analysis.examples import tried
from tests.analysis.journals import feasible, journalled, recommended, rejected, started


def test_a_report_is_all_that_is_said_of_a_run(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0), feasible(1, 6.0), rejected(2, "timeout"))
    found = report(run)
    assert found.origin == Origin(
        run.folder.path, run.settings, {"task": "1", "instances": "2", "template": "3"}, run.beginning
    )
    assert found.summary == summary(run)
    assert found.convergence == convergence(run)
    assert found.islands == islands(run.state)
    assert (found.clusters, found.joins) == (clustering(run).clusters, clustering(run).joins)
    assert found.failures == failures(run)
    assert found.distinct == distinct(run)
    assert found.diversity == diversity(run)
    assert found.diversity_over_time == diversity_over_time(run)
    assert found.top == top(run)
    assert found.held_out is None


def test_a_comparison_clusters_no_programs_until_a_view_of_one_run_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clustered = []

    def counted(run: Run) -> Clustering:
        clustered.append(run.folder.run)
        return clustering(run)

    monkeypatch.setattr("behavesim.analysis.report.clustering", counted)
    programs = feasible(0, 5.0), feasible(1, 4.0, [3, 2, 1, 0])
    found = [report(journalled(tmp_path / name, started(seed=len(name)), *programs)) for name in ("one", "other")]
    compared = comparison(found)
    list(comparison_sections(compared, FIRST_SECTIONS))
    assert clustered == []
    parts = json_document(compared)["runs"]
    assert clustered == ["one", "other"], "each once, though several parts are read from them"
    assert [len(part["clusters"]) for part in parts] == [2, 2]
    assert not any(part["notes"] for part in parts)


def test_a_report_without_its_task_says_so_once(tmp_path: Path) -> None:
    programs = feasible(0, 5.0), feasible(1, 4.0, [3, 2, 1, 0])
    found = report(journalled(tmp_path / "first", started(task=str(tmp_path / "gone.py")), *programs))
    assert len(found.all_notes) == 1
    assert (found.clusters, found.diversity.inter, found.portfolio.members) == ((), None, ())


def test_a_report_has_a_table_of_what_there_is(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0), recommended(0, c0=1.0))
    found = report(run)
    assert {table.name for table in tables_of(found)} >= {"top", "islands", "clusters"}
    assert not {table.name for table in tables_of(found)} & {"failures", "held_out"}
    (caption,) = [table.caption for table in tables_of(found) if table.name == "top"]
    assert caption.startswith(found.distinct.sentence)
    failed = report(journalled(tmp_path / "second", started(), rejected(0, "timeout")))
    assert {table.name for table in tables_of(tried(failed))} >= {"failures", "held_out"}


def test_a_report_reads_the_file_of_a_task_once(tmp_path: Path) -> None:
    file, read = tmp_path / "mine.py", tmp_path / "read"
    file.write_text(f"open({str(read)!r}, 'a').write('.')\nfrom behavesim_tasks.tsp import task\n")
    programs = feasible(0, 5.0), feasible(1, 4.0, [3, 2, 1, 0])
    report(journalled(tmp_path / "first", started(task=str(file)), *programs))
    assert read.read_text() == "."


def test_the_held_out_table_names_the_recommended_program(tmp_path: Path) -> None:
    from behavesim.analysis.held_out import HeldOutProgram

    run = journalled(tmp_path / "first", started(), feasible(0, 5.0), recommended(0, c0=1.0))
    found = tried(report(run))
    assert found.held_out is not None
    programs = (HeldOutProgram(0, 5.0, 5.0, 0.5, 0.5, None),)
    table = tables_of(replace(found, held_out=replace(found.held_out, programs=programs)))[-1]
    assert [row[0] for row in table.rows] == ["template", "0 (recommended)"]
