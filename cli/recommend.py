"""`behavesim recommend`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.recommendation import shortlist_table
from behavesim.analysis.run import Run
from behavesim.analysis.standing import summary
from behavesim.analysis.summary import RecommendedProgram
from behavesim.application.recommendation import record_portfolio, record_recommendation
from behavesim.base.errors import UsageError
from behavesim.reports.program import named
from behavesim.reports.terminal import show
from behavesim.store.folder import RunFolder
from behavesim.task import Task, TaskReference, instances_of

from .options import RUNS, AsJson, RunsDir, complete_runs, run_folder
from .output import busy, print_json


def recommend(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]",
            help="Ids, their beginnings, or folders (default: the newest run).",
            autocompletion=complete_runs,
        ),
    ] = None,
    portfolio: Annotated[
        int | None,
        typer.Option("--portfolio", metavar="K", help="Also up to K programs that behave differently."),
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Choose a program on validation instances: the best of several that behave differently.

    For several runs, give --portfolio K: it chooses a set from all their programs.
    """
    folders = [run_folder(runs_dir, run) for run in runs] if runs else [run_folder(runs_dir, None)]
    if len(folders) > 1 and portfolio is None:
        raise UsageError("recommend takes one run, or --portfolio K for the programs of several")
    task = TaskReference(folders[0].with_task_at_hand(Run.load(folders[0].path).settings).task).load()
    is_one = len(folders) == 1 and (portfolio is None or len(instances_of(task, "validation")) > 0)
    chosen = _recommended(folders[0], task) if is_one else None
    found = None if portfolio is None else _assembled(folders, task, portfolio)
    if as_json:
        document = None if chosen is None else asdict(chosen)
        members = {} if found is None else {"portfolio": [asdict(member) for member in found.members]}
        print_json({**(document or {}), **members} if members else document)
        return
    if is_one:
        show([shortlist_table(Run.load(folders[0].path))])
    if chosen is not None:
        typer.echo(f"recommended program: {folders[0].recommended} ({named(chosen.candidate)})")
    elif is_one:
        typer.echo("no program to recommend: none on the shortlist works on the validation instances")
    if found is not None:
        show(found.tables())
        typer.echo(_where(folders[0], task))


def _recommended(folder: RunFolder, task: Task) -> RecommendedProgram | None:
    """Choose a program of a run, record the choice with the run, and return it; None if there is none to choose."""
    busy(f"trying the best programs of {folder.run} on validation instances")
    run = Run.load(folder.path)
    asyncio.run(record_recommendation(run, task))
    return summary(run).recommended


def _assembled(folders: Sequence[RunFolder], task: Task, count: int) -> Portfolio:
    """Choose up to `count` programs from all runs, record the choice with the first run, and return it."""
    busy(f"choosing up to {count} programs that behave differently")
    return asyncio.run(record_portfolio(folders, task, count))


def _where(folder: RunFolder, task: Task) -> str:
    if task.online:
        why = "its decisions are final as they are made, so that the best of several solutions cannot be taken"
        return f"no portfolio.py for {task.name}: {why}"
    return f"all in one file: {folder.portfolio}"
