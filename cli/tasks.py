"""`behavesim tasks`."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any, get_args

import typer

from behavesim.task import Task, TaskKind, TaskReference, installed_tasks

from .options import AsJson
from .output import hanging, print_json

Timed = Annotated[
    bool, typer.Option("--sizes", help="Run every template on the search's instances, and show its seconds in a table.")
]


def tasks(sizes: Timed = False, as_json: AsJson = False) -> None:
    """List the installed tasks by kind: what is designed, on which instances, and the best score known with its source.

    The kind says what a program does. Constructive: it chooses each next step. Priority: it ranks the choices.
    Improvement: it changes a whole solution. Black-box: it minimises a function. Packing: it returns the whole
    solution. Evaluator: code of yours runs it.
    """
    rows = [(name, TaskReference(name).load()) for name in installed_tasks()]
    if sizes:
        from .sizes import show_sizes  # imported late: the plain list needs no sandbox

        show_sizes(
            [full for name, task in rows for full in (name, *(f"{name}:{size}" for size in task.sizes))], as_json
        )
        return
    if as_json:
        print_json([_as_json(name, task) for name, task in rows])
        return
    kinds, width = get_args(TaskKind), max(len(name) for name, _ in rows)
    for kind, of_kind in groupby(sorted(rows, key=lambda row: kinds.index(row[1].kind)), lambda row: row[1].kind):
        typer.echo(typer.style(kind, bold=True))
        for name, task in of_kind:
            typer.echo(hanging(f"  {name:{width}}  ", _in_words(task)))


def _in_words(task: Task) -> str:
    """Return what a person chooses a task by, in sentences."""
    known, source = task.objective.best_known, task.objective.source
    said = [f"{task.description.splitlines()[0]} {task.entry_point}(), {task.objective.direction}."]
    if task.search_size:
        said.append(f"{task.search_size}.")
    if known is not None:
        said.append(f"Best known: {known:.6g}{source and f' ({source})'}.")
    if task.used_by:
        said.append(f"Used by {task.used_by}.")
    if task.shifted:
        said.append(f"Shifted instances: {task.shifted}.")
    if task.sizes:
        said.append(f"Also {', '.join(f'{task.name}:{size}' for size in task.sizes)}.")
    if task.online:
        said.append("Online: a portfolio of programs does not apply.")
    return " ".join(said)


def _as_json(name: str, task: Task) -> dict[str, Any]:
    """Return what is known of a task of this name, as a JSON document."""
    return {
        "task": name,
        "kind": task.kind,
        "direction": task.objective.direction,
        "best_known": task.objective.best_known,
        "source": task.objective.source,
        "size": task.search_size,
        "sizes": task.sizes,
        "shifted": task.shifted,
        "used_by": task.used_by,
        "online": task.online,
        "budget": task.budget,
        "entry_point": task.entry_point,
    }
