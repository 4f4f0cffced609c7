"""`behavesim inject` and `behavesim advise`: what a person gives to a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from behavesim.application.injection import advise as put_advice
from behavesim.application.injection import inject as inject_programs
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.base.text import counted
from behavesim.proposers.installed import proposer_type
from behavesim.state.settings import settings_from_journal
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference

from .options import RUNS, NamedRun, RunsDir, run_folder


def inject(
    run: NamedRun,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Programs; `template` is the task's own."),
    ],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Put programs of your own into a run, while it goes on or before it is resumed."""
    folder = run_folder(runs_dir, run)
    settings = _settings(folder)
    inject_programs(folder, TaskReference(settings.task).load(), files)
    then = _then(folder, settings, "tries them in place of its next questions", len(files))
    typer.echo(f"{counted(len(files), 'program')} put into {folder.run}{then}")


def advise(
    run: NamedRun,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="One line, in quotation marks.")] = "",
    clear: Annotated[bool, typer.Option("--clear", help="Withdraw all advice instead.")] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Say a sentence to the model of a run, in all later prompts for programs, while it goes on or before a resume."""
    if clear == bool(sentence):
        raise UsageError("expected a sentence in quotation marks, or --clear to withdraw all advice")
    folder = run_folder(runs_dir, run)
    settings = _settings(folder)
    put_advice(folder, sentence)
    said = "withdrawn from" if clear else "put into"
    typer.echo(f"advice {said} {folder.run}{_then(folder, settings, 'heeds that in its next prompts', 1)}")
    if not clear and not proposer_type(settings.proposer).costs_money:
        typer.echo(f"note: only a model reads advice, and the proposer is {settings.proposer}")


def _settings(folder: RunFolder) -> Settings:
    """Return a run's settings as of its last session, with its task where that is now."""
    # the folder has the settings of the last session, such as a raised budget; the journal has those of the first
    return folder.with_task_at_hand(settings_from_journal(folder.read_settings()))


def _then(folder: RunFolder, settings: Settings, does: str, more: int) -> str:
    """Return what follows: what a running run `does`, else how to resume, with `more` candidates if none is left."""
    resume = f"next: behavesim resume {folder.argument}"
    if count_registered(folder.journal) >= settings.budget:
        return f", which is at the end of its budget; {resume} --budget {settings.budget + more}"
    return f", which {does}" if folder.is_running() else f"; {resume}"
