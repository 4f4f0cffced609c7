"""The report of an experiment: its runs compared, and kept beside them as a document and as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from behavesim.analysis.run import load_run
from behavesim.application.held_out import tried_on_held_out
from behavesim.experiment.plan import Experiment, Planned
from behavesim.reports.comparison import write_csv
from behavesim.reports.document import document


async def compared(
    experiment: Experiment, made: Sequence[Planned], runs_dir: Path, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The document on the runs that were made, kept as report.json, and its tables as CSV files in tables/."""
    runs = [load_run(runs_dir / run.name) for run in made]
    held_out = await tried_on_held_out(runs, tell) if experiment.held_out else None
    full = document(runs, held_out, experiment.tests)
    (runs_dir / "report.json").write_text(json.dumps(full, indent=1), encoding="utf-8")
    write_csv(full, runs_dir / "tables")
    return full
