"""`behavesim recommend`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import typer

from behavesim.analysis.run import load_run
from behavesim.analysis.summary import summary
from behavesim.application.recommendation import recommended
from behavesim.task import TaskReference

from .options import RUNS, AsJson, OneRun, RunsDir, run_folder
from .output import busy, print_json


def recommend(
    run: OneRun = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Choose a program on validation instances: the best of several that behave differently."""
    folder = run_folder(runs_dir, run)
    task = TaskReference(folder.with_task_at_hand(load_run(folder.path).settings).task).load()
    busy(f"trying the best programs of {folder.run} on validation instances")
    asyncio.run(recommended(folder, task))
    chosen = summary(load_run(folder.path)).recommended
    if as_json:
        print_json(None if chosen is None else asdict(chosen))
    elif chosen is None:
        typer.echo("no program to recommend: none on the shortlist works on the validation instances")
    else:
        typer.echo(f"recommended program: {folder.recommended} (candidate {chosen.candidate})")
