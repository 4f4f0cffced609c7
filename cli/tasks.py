"""`behavesim tasks`."""

from __future__ import annotations

import typer

from behavesim.task import TaskReference, installed_tasks

from .options import AsJson
from .output import print_json


def tasks(as_json: AsJson = False) -> None:
    """List the installed tasks, each with its direction, entry point and description."""
    rows = [(name, TaskReference(name).load()) for name in installed_tasks()]
    if as_json:
        print_json(
            [
                {
                    "task": name,
                    "direction": task.objective.direction,
                    "best_known": task.objective.best_known,
                    "budget": task.budget,
                    "entry_point": task.entry_point,
                }
                for name, task in rows
            ]
        )
        return
    for name, task in rows:
        typer.echo(f"{name:14} {task.objective.direction}, {task.entry_point}(): {task.description.splitlines()[0]}")
