"""`behavesim recommend`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from behavesim.analysis.recommendation import shortlist_table
from behavesim.analysis.run import load_run
from behavesim.analysis.summary import RecommendedProgram, summary
from behavesim.application.recommendation import recommended
from behavesim.errors import UsageError
from behavesim.reports.summary import named
from behavesim.reports.terminal import show
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference

from .options import RUNS, AsJson, RunsDir, run_folder
from .output import busy, print_json


def recommend(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Ids, their beginnings, or folders (default: the newest run)."),
    ] = None,
    portfolio: Annotated[
        int | None,
        typer.Option("--portfolio", metavar="K", help="Also up to K programs that behave differently."),
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Choose a program on validation instances: the best of several that behave differently.

    Several runs have no one program; give --portfolio K for a set of all their programs.
    """
    folders = [run_folder(runs_dir, run) for run in runs] if runs else [run_folder(runs_dir, None)]
    if len(folders) > 1 and portfolio is None:
        raise UsageError("recommend takes one run, or --portfolio K for the programs of several")
    chosen = _recommended(folders[0]) if len(folders) == 1 else None
    first, *others = [load_run(folder.path) for folder in folders]
    found = None if portfolio is None else first.portfolio(portfolio, others)
    if as_json:
        document = None if chosen is None else asdict(chosen)
        members = {} if found is None else {"portfolio": [asdict(member) for member in found.members]}
        print_json({**(document or {}), **members} if members else document)
        return
    if len(folders) == 1:
        show([shortlist_table(load_run(folders[0].path))])
    if chosen is not None:
        typer.echo(f"recommended program: {folders[0].recommended} ({named(chosen.candidate)})")
    elif len(folders) == 1:
        typer.echo("no program to recommend: none on the shortlist works on the validation instances")
    if found is not None:
        show([found.table(), found.wins()])


def _recommended(folder: RunFolder) -> RecommendedProgram | None:
    """The program that is chosen, and recorded with the run."""
    task = TaskReference(folder.with_task_at_hand(load_run(folder.path).settings).task).load()
    busy(f"trying the best programs of {folder.run} on validation instances")
    asyncio.run(recommended(folder, task))
    return summary(load_run(folder.path)).recommended
