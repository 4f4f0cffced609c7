"""The report of an experiment: its runs compared, and kept beside them as a document and as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from behavesim.analysis.comparison import RunComparison, comparison
from behavesim.analysis.metric import Metric
from behavesim.analysis.run import load_run
from behavesim.application.experiment.plan import Experiment, Planned
from behavesim.application.held_out import reported
from behavesim.reports.csv_files import write_csv
from behavesim.reports.document import document


async def compared(
    experiment: Experiment,
    made: Sequence[Planned],
    runs_dir: Path,
    metrics: Sequence[Metric],
    tell: Callable[[str], None],
) -> RunComparison:
    """The runs that were made compared; kept as report.json, and as CSV files in tables/."""
    runs = [load_run(runs_dir / run.name) for run in made]
    found = comparison(await reported(runs, tell, experiment.held_out), experiment.tests, metrics)
    (runs_dir / "report.json").write_text(json.dumps(document(found), indent=1), encoding="utf-8")
    write_csv(found, runs_dir / "tables")
    return found
