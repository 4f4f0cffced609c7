"""`behavesim evaluate`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from behavesim.application import evaluation
from behavesim.protocols import Failure
from behavesim.reports.summary import percent
from behavesim.settings import resolve
from behavesim.task import Objective, Split, TaskReference
from behavesim.text import one_line

from .options import AllowWeakIsolation, AsJson, Assignments, HeldOut, TaskName
from .output import REJECTED, busy, print_json


def evaluate(
    task: TaskName,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Programs; `template` is the task's own.")],
    held_out: HeldOut = False,
    allow_weak_isolation: AllowWeakIsolation = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Score programs in the sandbox; exit code 3 where one is rejected."""
    reference = TaskReference(task).resolved()
    loaded = reference.load()
    settings = resolve({"task": reference.text, "allow_weak_isolation": allow_weak_isolation}, assignments, task=loaded)
    programs = [(str(file), evaluation.read_program(file, loaded)) for file in files]
    split: Split = "held-out" if held_out else "search"
    busy(f"trying {', '.join(file for file, _ in programs)} on {split} instances")
    verdicts = asyncio.run(evaluation.evaluate(settings, loaded, programs, split))
    results = [_document(verdict, loaded.objective_on(split)) for verdict in verdicts]
    if as_json:
        print_json(results)
    else:
        _print_table(results)
    if any(result["status"] == "rejected" for result in results):
        raise typer.Exit(REJECTED)


def _document(result: evaluation.Evaluation, objective: Objective) -> dict[str, Any]:
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
    table = Table(title=f"isolation {results[0]['isolation']}", title_justify="left")
    for name in ("program", "score", "gap", "seconds", "result"):
        table.add_column(name, justify="right" if name in ("score", "gap", "seconds") else "left", overflow="fold")
    for result in results:
        ok = result["status"] == "ok"
        verdict = "ok" if ok else f"{result['stage']}: {result['reason']}: {result['message']}"
        score, gap = (f"{result['score']:.6g}", percent(result["gap"])) if ok else ("", "")
        file, why = Text(one_line(result["file"])), Text(one_line(verdict, 1000))
        table.add_row(file, score, gap, f"{result['seconds']:.3f}", why)
    Console().print(table)
