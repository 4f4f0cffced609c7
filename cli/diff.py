"""`behavesim diff`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from behavesim.analysis.difference import program_difference
from behavesim.analysis.run import Run
from behavesim.reports.difference import show_difference

from .options import RUNS, AsJson, NamedRun, RunsDir, run_folder
from .output import busy, print_json


def diff(
    run: NamedRun,
    a: Annotated[int, typer.Argument(metavar="A", help="A candidate's number; -1 is the template.")],
    b: Annotated[int, typer.Argument(metavar="B", help="Another's.")],
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show how two programs of a run differ: in their text, and at which step on each instance they first differ."""
    folder = run_folder(runs_dir, run)
    busy(f"reading {folder.run}")
    found = program_difference(Run.load(folder.path), a, b)
    if as_json:
        print_json(asdict(found))
    else:
        show_difference(found)
