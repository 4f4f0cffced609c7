"""`behavesim export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from behavesim.analysis.run import Run
from behavesim.reports.export import LINES, write_export

from .options import RUNS, NamedRun, RunsDir, run_folder
from .output import busy


def export(
    run: NamedRun,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or an empty folder.")],
    every: Annotated[
        bool, typer.Option("--all", help="Every program as a file, repeated and rejected ones too.")
    ] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write the distinct programs of a run as files NNNNN.py, and all its candidates as JSON lines."""
    source = run_folder(runs_dir, run)
    busy(f"reading {source.run}")
    loaded = Run.load(source.path)
    count = write_export(loaded, folder, every)
    programs = "1 program" if count == 1 else f"{count} programs"
    typer.echo(f"wrote {programs} to {folder}, and all {len(loaded.candidates)} candidates to {folder / LINES}")
