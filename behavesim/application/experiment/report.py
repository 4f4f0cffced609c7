"""The report of an experiment: a comparison of its runs, written beside them as JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from behavesim.analysis.comparison import RunComparison, comparison
from behavesim.analysis.metric import Metric
from behavesim.analysis.run import Run
from behavesim.application.experiment.plan import Experiment, Planned
from behavesim.application.held_out import reports_of
from behavesim.reports.csv_files import write_csv
from behavesim.reports.document import document


async def compared(
    experiment: Experiment,
    made: Sequence[Planned],
    runs_dir: Path,
    metrics: Sequence[Metric],
    tell: Callable[[str], None],
) -> RunComparison:
    """Compare the runs, write report.json and the CSV files in tables/, and return the comparison."""
    runs = [Run.load(runs_dir / run.name) for run in made]
    reports = await reports_of(runs, tell, experiment.held_out)
    found = comparison(reports, experiment.tests, metrics, experiment.tests_unfinished)
    (runs_dir / "report.json").write_text(json.dumps(document(found), indent=1), encoding="utf-8")
    write_csv(found, runs_dir / "tables")
    return found
