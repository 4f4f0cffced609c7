"""`behavesim recover`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from behavesim.audit.recover import recover as recovered
from behavesim.base.config import cores
from behavesim.base.text import counted
from behavesim.store.folder import RunFolder

from .options import RUNS, NamedRun, RunsDir, Workers, run_folder


def recover(
    run: NamedRun,
    name: Annotated[str | None, typer.Option(help="The new run's id (default: RUN-recovered).")] = None,
    workers: Workers = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Make a new run from all that can be read of a damaged one, which stays as it is.

    The command prints which replies are lost.
    """
    folder = run_folder(runs_dir, run)
    target = RunFolder.named(runs_dir, name or f"{folder.run}-recovered")
    done = asyncio.run(recovered(folder, target, workers or cores()))
    lost = f"; lost: the replies to {', '.join(map(str, done.lost))}" if done.lost else ""
    typer.echo(f"run {done.run} holds the {done.replies} replies that could be read in {folder.run}{lost}")
    if done.missing:
        typer.echo(f"{counted(done.missing, 'event')} of {done.events + done.missing} could not be read")
    typer.echo(f"next: behavesim resume {target.argument}, or behavesim report {target.argument}")
