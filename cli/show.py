"""`behavesim show`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from behavesim.analysis.run import Run
from behavesim.analysis.shown import candidate_details
from behavesim.reports.shown import show_candidate

from .options import RUNS, AsJson, NamedRun, RunsDir, run_folder
from .output import busy, print_json


def show(
    run: NamedRun,
    candidate: Annotated[int, typer.Argument(metavar="CANDIDATE", help="Its number; -1 is the template.")],
    prompt: Annotated[bool, typer.Option("--prompt", help="Also what was asked.")] = False,
    reply: Annotated[bool, typer.Option("--reply", help="Also what was answered.")] = False,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show a program of a run: its score, its origin, and the programs that behave most like it."""
    folder = run_folder(runs_dir, run)
    busy(f"reading {folder.run}")
    found = candidate_details(Run.load(folder.path), candidate)
    if as_json:
        print_json(asdict(found))
    else:
        show_candidate(found, prompt, reply)
