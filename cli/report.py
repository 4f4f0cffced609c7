"""`behavesim report`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from behavesim.analysis.comparison import repeats
from behavesim.analysis.run import load_run
from behavesim.application.held_out import tried_on_held_out
from behavesim.reports.comparison import comparison_tables, held_out_table, write_csv
from behavesim.reports.document import document
from behavesim.reports.tables import run_tables
from behavesim.store.folder import RunFolder

from .options import RUNS, AsJson, RunsDir, busy, print_json, tell

SHOWN_SINGLY = 3
"""Up to so many runs each is shown for itself; more are compared and nothing else."""


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids or folders of runs; several are compared.")],
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="DIR", help="Write the tables there as CSV files.")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Try the ten best and the recommended program on held-out instances.")
    ] = False,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Summary, best programs, islands and behavioural clusters."""
    busy(f"reading {runs[0] if len(runs) == 1 else f'{len(runs)} runs'}")
    loaded = [load_run(RunFolder.find(runs_dir, run).path) for run in runs]
    if again := ", ".join(loaded[place].folder.run for place in repeats(loaded)):
        tell(f"made twice, with equal settings and seed, and counted once: {again}")
    full = document(loaded, asyncio.run(tried_on_held_out(loaded, tell)) if held_out else None)
    if csv is not None:
        write_csv(full, csv)
    if as_json:
        print_json(full)
        return
    console = Console()
    for run in full["runs"] if len(loaded) <= SHOWN_SINGLY else []:
        for table in [*run_tables(run), *([held_out_table(run)] if held_out else [])]:
            console.print(table)
    for table in comparison_tables(full["comparison"]):
        console.print(table)
