"""`behavesim inject`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from behavesim.application.injection import inject as inject_programs
from behavesim.base.text import counted
from behavesim.state.settings import settings_from_journal
from behavesim.store.database import count_registered
from behavesim.task import TaskReference

from .options import RUNS, NamedRun, RunsDir, run_folder


def inject(
    run: NamedRun,
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Programs, each a Python file.")],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Put programs of your own into a run, while it goes on or before it is resumed."""
    folder = run_folder(runs_dir, run)
    # the folder has the settings of the last session, such as a raised budget; the journal has those of the first
    settings = folder.with_task_at_hand(settings_from_journal(folder.read_settings()))
    inject_programs(folder, TaskReference(settings.task).load(), files)
    resume = f"next: behavesim resume {folder.argument}"
    if count_registered(folder.journal) >= settings.budget:
        then = f", which is at the end of its budget; {resume} --budget {settings.budget + len(files)}"
    elif folder.is_running():
        then = ", which tries them in place of its next questions"
    else:
        then = f"; {resume}"
    typer.echo(f"{counted(len(files), 'program')} put into {folder.run}{then}")
