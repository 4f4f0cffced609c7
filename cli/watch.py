"""`behavesim watch`."""

from __future__ import annotations

import asyncio

import typer

from behavesim.analysis.run import Run
from behavesim.analysis.run_summary import in_force, state_of
from behavesim.application.console import moment_of
from behavesim.application.console import watch as watched
from behavesim.reports.next_steps import ending
from behavesim.reports.panels import line as plain

from .options import RUNS, OneRun, RunsDir, run_folder
from .output import say


def watch(
    run: OneRun = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Follow a run, by default the newest, from another terminal until no process carries it out any more.

    The run is not changed.
    """
    followed = Run.load(run_folder(runs_dir, run).path)
    asyncio.run(watched(followed))
    typer.echo(plain(moment_of(followed)), err=True)  # what the live view showed may have been older
    typer.echo(f"run {followed.folder.run}: {state_of(followed)}")
    for line in ending(followed, in_force(followed), followed.state.stopped):
        say(line)
