"""`behavesim task init` and `behavesim task check`: a task of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from behavesim.checkup import checkup
from behavesim.engine.settings import resolve
from behavesim.task import TaskReference

from .commands import PLAIN
from .findings import report_findings
from .options import AsJson, Assignments
from .own_file import write_example

task = typer.Typer(help="Write and examine a task of your own.", no_args_is_help=True, **PLAIN)


@task.command("init")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The task's name; the file is NAME.py here.")],
) -> None:
    """Write a commented task file to start from."""
    write_example("task", name)


@task.command("check")
def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A task file, or an installed task's name.")],
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Examine a task without asking a model, so at no cost.

    Exit code 1 if something must be fixed.
    """
    reference = TaskReference(path).resolved()
    loaded = reference.load()
    settings = resolve({"task": reference.text}, assignments, task=loaded)
    report_findings(checkup(settings, loaded), 20, as_json)
