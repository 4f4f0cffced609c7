"""`behavesim inject`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from behavesim.application.injection import inject as put_in
from behavesim.engine.settings import settings_from_journal
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference

from .options import RUNS, RunsDir


def inject(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id or folder.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Programs, each a Python file.")],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Put programs of your own into a run, while it goes on or before it is resumed."""
    folder = RunFolder.find(runs_dir, run)
    settings = folder.with_task_at_hand(settings_from_journal(folder.read_settings()))
    put_in(folder, TaskReference(settings.task).load(), files)
    some = f"{len(files)} program{'s' if len(files) > 1 else ''}"
    left = settings.budget - count_registered(folder.journal)
    if left > 0 and folder.is_running():
        typer.echo(f"{some} put into {folder.run}, which tries them in place of its next questions")
    elif left > 0:
        typer.echo(f"{some} put into {folder.run}; next: behavesim resume {folder.argument}")
    else:
        more = f"behavesim resume {folder.argument} --budget {settings.budget + len(files)}"
        typer.echo(f"{some} put into {folder.run}, which is at the end of its budget; next: {more}")
