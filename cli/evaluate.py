"""`behavesim evaluate` and `behavesim tasks`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import AsJson, Assignments, print_json

if TYPE_CHECKING:
    from behavesim.config import Settings
    from behavesim.protocols import Judge
    from behavesim.task import Split, Task

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
    programs = [(str(file), _source(file, loaded)) for file in files]
    results = asyncio.run(_evaluated(settings, loaded, programs, "held-out" if held_out else "search"))
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


def _source(file: Path, task: Task) -> str:
    from behavesim.errors import UsageError

    if str(file) == "template":
        return task.template
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the program {file}: {error}") from None


async def _evaluated(
    settings: Settings, task: Task, programs: list[tuple[str, str]], split: Split
) -> list[dict[str, Any]]:
    from behavesim.sandbox import Judge, Limits, Pool
    from behavesim.task import TaskReference

    limits = Limits(settings.timeout_s, settings.memory_mb, settings.output_mb)
    reference, weak = TaskReference(settings.task), settings.allow_weak_isolation
    async with Pool(reference, split, 1, limits, allow_weak_isolation=weak) as pool:
        judge = Judge(task, split, pool)
        return [await _document(file, source, task, judge, pool.isolation) for file, source in programs]


async def _document(file: str, source: str, task: Task, judge: Judge, isolation: str) -> dict[str, Any]:
    from behavesim.programs.extract import extract
    from behavesim.protocols import Failure

    program = extract(f"```python\n{source}\n```", task.template, task.entry_point)
    verdict = program if isinstance(program, Failure) else await judge.evaluate(program.source)
    common = {
        "file": file,
        "stage": "extraction" if isinstance(program, Failure) else "evaluation",
        "seconds": verdict.cpu_s,
        "isolation": isolation,
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
        "gap": task.objective.gap(verdict.score),
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
