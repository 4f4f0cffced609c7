"""`behavesim diff`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from behavesim.analysis.difference import program_difference
from behavesim.reports.candidate_screen import show_difference

from .options import RUNS, AsJson, NamedRun, RunsDir, number_called, read_run
from .output import print_result


def diff(
    run: NamedRun,
    a: Annotated[str, typer.Argument(metavar="A", help="A number (-1: the template), best, recommended or template.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other candidate.")],
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show how two programs of a run differ in text and, if both are feasible, from which step on in behaviour."""
    read = read_run(runs_dir, run)
    found = program_difference(read, number_called(read, a), number_called(read, b))
    print_result(found, as_json, asdict, show_difference)
