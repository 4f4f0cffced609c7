"""`behavesim recover`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from behavesim.application.machine import cores
from behavesim.audit.recover import recover as recovered
from behavesim.base.text import number
from behavesim.store.folder import RunFolder

from .options import RUNS, RunsDir


def recover(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id or folder of a damaged run.")],
    name: Annotated[str | None, typer.Option(help="The new run's id (default: RUN-recovered).")] = None,
    workers: Annotated[int | None, typer.Option(help="Programs run at once (default: the cores).")] = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Make a new run of all that can be read of a damaged one; the old one is left as it is."""
    folder = RunFolder.find(runs_dir, run)
    target = RunFolder.named(runs_dir, name or f"{folder.run}-recovered")
    done = asyncio.run(recovered(folder, target, workers or cores()))
    lost = f"; lost: the replies to {', '.join(map(str, done.lost))}" if done.lost else ""
    typer.echo(f"run {done.run} holds the {done.replies} replies that could be read in {folder.run}{lost}")
    if done.missing:
        typer.echo(f"{number(done.missing, 'event')} of {done.events + done.missing} could not be read")
    if not done.proved:
        typer.echo("its events have no seals (an older behavesim wrote them): damage may have altered what was read")
    typer.echo(f"next: behavesim resume {target.argument}, or behavesim report {target.argument}")
