"""`behavesim evaluate` and `behavesim tasks`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson, Assignments, print_json
from .programs import Judged, judged, read_program

if TYPE_CHECKING:
    from behavesim.task import Objective, Split

REJECTED = 3


def evaluate(
    task: Annotated[str, typer.Argument(help="A task's name, or the path of a task file.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Programs; `template` is the task's own.")],
    held_out: Annotated[bool, typer.Option("--held-out", help="On the held-out instances.")] = False,
    allow_weak_isolation: Annotated[
        bool | None, typer.Option("--allow-weak-isolation", help="Run where the sandbox cannot be closed.")
    ] = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Score programs in the sandbox; exit code 3 where one is rejected."""
    import asyncio

    from behavesim.config import resolve
    from behavesim.task import TaskReference

    reference = TaskReference(task).resolved()
    loaded = reference.load()
    settings = resolve({"task": reference.text, "allow_weak_isolation": allow_weak_isolation}, assignments)
    programs = [(str(file), read_program(file, loaded)) for file in files]
    split: Split = "held-out" if held_out else "search"
    verdicts = asyncio.run(judged(settings, loaded, programs, split))
    results = [_document(verdict, loaded.objective_on(split)) for verdict in verdicts]
    if as_json:
        print_json(results)
    else:
        _print_table(results)
    if any(result["status"] == "rejected" for result in results):
        raise typer.Exit(REJECTED)


def tasks(as_json: AsJson = False) -> None:
    """The installed tasks."""
    from behavesim.task import TaskReference, installed_tasks

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


def _document(result: Judged, objective: Objective) -> dict[str, Any]:
    from behavesim.protocols import Failure

    verdict = result.verdict
    common = {
        "file": result.file,
        "stage": result.stage,
        "seconds": verdict.cpu_s,
        "isolation": result.isolation,
    }
    if isinstance(verdict, Failure):
        why = {"status": "rejected", "reason": verdict.reason, "message": verdict.message[:500]}
        return {**common, **why, "score": None, "gap": None, "trajectories": []}
    return {
        **common,
        "status": "ok",
        "reason": None,
        "message": None,
        "score": verdict.score,
        "gap": objective.gap(verdict.score),
        "trajectories": [{"kind": each.kind, "values": each.values()} for each in verdict.trajectories],
    }


def _print_table(results: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from behavesim.reports.summary import percent

    table = Table(title=f"isolation {results[0]['isolation']}", title_justify="left")
    for name in ("program", "score", "gap", "seconds", "result"):
        table.add_column(name, justify="right" if name in ("score", "gap", "seconds") else "left", overflow="fold")
    for result in results:
        ok = result["status"] == "ok"
        verdict = "ok" if ok else f"{result['stage']}: {result['reason']}: {result['message']}"
        score, gap = (f"{result['score']:.6g}", percent(result["gap"])) if ok else ("", "")
        table.add_row(result["file"], score, gap, f"{result['seconds']:.3f}", verdict)
    Console().print(table)
