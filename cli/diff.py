"""`behavesim diff`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from behavesim.analysis.difference import program_difference
from behavesim.reports.difference_screen import show_difference

from .options import RUNS, AsJson, NamedRun, RunsDir, read_run
from .output import print_result


def diff(
    run: NamedRun,
    a: Annotated[int, typer.Argument(metavar="A", help="A candidate's number; -1 is the template.")],
    b: Annotated[int, typer.Argument(metavar="B", help="The other candidate's number.")],
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show how two programs of a run differ in text and, if both are feasible, at which step on each instance first."""
    print_result(program_difference(read_run(runs_dir, run), a, b), as_json, asdict, show_difference)
