"""`behavesim evaluate`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from behavesim.analysis.table import COUNT, FRACTION, SCORE, SECONDS, Column, Table
from behavesim.application import evaluation
from behavesim.base.text import one_line
from behavesim.engine.settings import resolve
from behavesim.reports.terminal import show
from behavesim.sandbox import Limits
from behavesim.state.verdict import Failure
from behavesim.task import Objective, Split, TaskReference

from .options import AllowWeakIsolation, AsJson, Assignments, HeldOut, TaskName
from .output import REJECTED, busy, print_json


def evaluate(
    task: TaskName,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Programs; `template` is the task's own.")],
    held_out: HeldOut = False,
    allow_weak_isolation: AllowWeakIsolation = None,
    assignments: Assignments = None,
    trajectories: Annotated[
        bool | None,
        typer.Option(
            "--trajectories/--no-trajectories",
            help="Print what each program did on each instance; the JSON document has it unless told otherwise.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score programs in the sandbox; exit code 3 if one is rejected."""
    reference = TaskReference(task).resolved()
    loaded = reference.load()
    settings = resolve({"task": reference.text, "allow_weak_isolation": allow_weak_isolation}, assignments, task=loaded)
    programs = [(str(file), evaluation.read_program(file, loaded)) for file in files]
    split: Split = "held-out" if held_out else "search"
    limits = Limits.of(settings).on(loaded, split)
    busy(f"trying {', '.join(file for file, _ in programs)} on {split} instances, each {limits.in_words}")
    verdicts = asyncio.run(evaluation.evaluate(settings, loaded, programs, split))
    results = [_document(verdict, loaded.objective_on(split)) for verdict in verdicts]
    if as_json:
        hidden = "trajectories" if trajectories is False else None
        print_json([{key: value for key, value in result.items() if key != hidden} for result in results])
    else:
        show([_table(results), *([_trajectories(results)] if trajectories else [])])
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


def _table(results: list[dict[str, Any]]) -> Table:
    columns = (Column("program"), Column("score", SCORE), Column("gap", FRACTION), Column("seconds", SECONDS))
    rows = (
        (one_line(each["file"]), each["score"], each["gap"], each["seconds"], one_line(_verdict(each), 1000))
        for each in results
    )
    return Table("evaluation", f"isolation {results[0]['isolation']}", (*columns, Column("result")), tuple(rows))


def _trajectories(results: list[dict[str, Any]]) -> Table:
    columns = Column("program"), Column("instance", COUNT), Column("kind"), Column("values")
    rows = (
        (one_line(result["file"]), number, each["kind"], one_line(str(each["values"]), 10_000))
        for result in results
        for number, each in enumerate(result["trajectories"], 1)
    )
    return Table("trajectories", "what each program did on each instance", columns, tuple(rows))


def _verdict(result: dict[str, Any]) -> str:
    return "ok" if result["status"] == "ok" else f"{result['stage']}: {result['reason']}: {result['message']}"
