"""Compares the runs of an experiment, and writes the comparison beside them as JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from behavesim.analysis.comparison import RunComparison, comparison
from behavesim.analysis.metrics import Metric
from behavesim.analysis.run import Run
from behavesim.application.experiment.plan import Experiment, Planned
from behavesim.application.held_out import reports_of
from behavesim.reports.csv_files import write_csv
from behavesim.reports.json_document import json_document
from behavesim.reports.page.html import write_comparison

PAGE = "comparison.html"
"""Name of the page of an experiment's comparison, in the folder of its runs."""


async def compared(
    experiment: Experiment,
    made: Sequence[Planned],
    runs_dir: Path,
    metrics: Sequence[Metric],
    tell: Callable[[str], None],
    workers: int | str | None = None,
) -> RunComparison:
    """Compare the runs that were `made`, write report.json, comparison.html and tables/*.csv; return the comparison.

    Files are written into `runs_dir`, the folder of the runs. `metrics` are all that are used, built-in ones included.
    `tell` gets a line when programs are evaluated on a task's held-out instances, `workers` at once or on the cluster
    of that name; None uses all cores. Raises OSError or UsageError if a file cannot be written, UsageError if a metric
    fails, and another BehavesimError if a journal cannot be read or programs cannot be evaluated.
    """
    runs = [Run.load(runs_dir / run.name) for run in made]
    reports = await reports_of(runs, tell, ["held-out"] if experiment.held_out else [], workers)
    found = comparison(reports, experiment.tests, metrics, experiment.tests_unfinished)
    (runs_dir / "report.json").write_text(json.dumps(json_document(found), indent=1), encoding="utf-8")
    write_csv(found, runs_dir / "tables")
    write_comparison(found, runs, runs_dir / PAGE)
    return found
