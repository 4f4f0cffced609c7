"""`behavesim watch`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from behavesim.analysis.run import load_run
from behavesim.analysis.summary import in_force, state_of
from behavesim.application.console import moment_of
from behavesim.application.console import watch as watched
from behavesim.reports.ending import ending
from behavesim.reports.panels import line as plain
from behavesim.store.folder import RunFolder
from behavesim.text import printable

from .options import RUNS, RunsDir
from .output import INTERRUPTED


def watch(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id or folder.")],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Follow a run from another terminal until it ends; looks, and touches nothing."""
    followed = load_run(RunFolder.find(runs_dir, run).path)
    try:
        asyncio.run(watched(followed))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(plain(moment_of(followed)), err=True)
    typer.echo(f"run {followed.folder.run} is {state_of(followed)}")
    for line in ending(followed, in_force(followed), followed.state.stopped):
        typer.echo(printable(line))
