"""`behavesim export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from behavesim.base.text import counted
from behavesim.reports.export import LINES, write_export

from .options import RUNS, NamedRun, RunsDir, read_run


def export(
    run: NamedRun,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write to, new or empty.")],
    every: Annotated[
        bool, typer.Option("--all", help="Write every program as a file, repeated and rejected ones too.")
    ] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write the distinct feasible programs of a run as files named by number, and all its candidates as JSON lines."""
    loaded = read_run(runs_dir, run)
    count = write_export(loaded, folder, every)
    every_line = f"all {len(loaded.candidates)} candidates to {folder / LINES}"
    typer.echo(f"wrote {counted(count, 'program')} to {folder}, and {every_line}")
