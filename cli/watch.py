"""`behavesim watch`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from behavesim.analysis.run import load_run
from behavesim.analysis.summary import state_of
from behavesim.application.console import moment_of
from behavesim.application.console import watch as watched
from behavesim.reports.panels import line
from behavesim.store.folder import RunFolder

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
    typer.echo(line(moment_of(followed)), err=True)
    folder = followed.folder
    typer.echo(f"run {folder.run} is {state_of(followed)}; next: behavesim report {folder.argument}")
