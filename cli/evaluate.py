"""`behavesim evaluate`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from behavesim.analysis.table import COUNT, FRACTION, SCORE, SECONDS, Column, Table
from behavesim.application.evaluation import Evaluation, read_program
from behavesim.application.held_out import absence
from behavesim.application.launch import task_settings
from behavesim.base.text import one_line
from behavesim.reports.terminal import show
from behavesim.sandbox.limits import Limits
from behavesim.task import Split, Task
from behavesim.task.verdict import Failure

from .options import AllowWeakIsolation, AsJson, Assignments, HeldOut, OneWorker, Programs, Shifted, TaskName, split_of
from .output import print_json, tell
from .trial import REJECTED, tried


def evaluate(
    task: TaskName,
    files: Programs,
    held_out: HeldOut = False,
    shifted: Shifted = False,
    workers: OneWorker = None,
    allow_weak_isolation: AllowWeakIsolation = None,
    assignments: Assignments = None,
    trajectories: Annotated[
        bool | None,
        typer.Option(
            "--trajectories/--no-trajectories",
            help="Print each program's trajectory on each instance (default: only in JSON).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score programs in the sandbox; exit code 3 if one is rejected."""
    given = {"allow_weak_isolation": allow_weak_isolation, "workers": workers}
    settings, loaded = task_settings(task, given, assignments)
    programs = [(str(file), read_program(file, loaded)) for file in files]
    split = split_of(held_out, shifted)
    if said := absence(loaded, split, settings.task):
        tell(said)
        if as_json:
            print_json([])
        return
    limits = Limits.of(settings).on(loaded, split)  # other splits may have more instances, and so more time
    verdicts = tried(settings, loaded, programs, split, f", each {limits.in_words}")
    results = [_document(verdict, loaded, split) for verdict in verdicts]
    if as_json:
        hidden = "trajectories" if trajectories is False else None
        print_json([{key: value for key, value in result.items() if key != hidden} for result in results])
    else:
        show([_table(results), *([_trajectories(results)] if trajectories else [])])
    if any(result["status"] == "rejected" for result in results):
        raise typer.Exit(REJECTED)


def _document(result: Evaluation, task: Task, split: Split) -> dict[str, Any]:
    """Return the JSON document of a program's result on a split."""
    verdict = result.verdict
    known: dict[str, Any] = {
        "file": result.file,
        "status": "ok",
        "stage": result.stage,
        "reason": None,
        "message": None,
        "score": None,
        "gap": None,
        "seconds": verdict.cpu_s,
        "isolation": result.isolation,
        "score_source": task.score_source,
        "metrics": dict(verdict.metrics),
        "feedback": verdict.feedback,
        "trajectories": [],
    }
    if isinstance(verdict, Failure):
        return {**known, "status": "rejected", "reason": verdict.reason, "message": verdict.message[:500]}
    trajectories = [{"kind": each.kind, "values": each.values()} for each in verdict.trajectories]
    return {
        **known,
        "score": verdict.score,
        "gap": task.objective_on(split).gap(verdict.score),
        "trajectories": trajectories,
    }


def _table(results: list[dict[str, Any]]) -> Table:
    """Return the table of all results, given as their documents, at least one."""
    columns = (Column("program"), Column("score", SCORE), Column("gap", FRACTION), Column("seconds", SECONDS))
    rows = (
        (one_line(each["file"]), each["score"], each["gap"], each["seconds"], one_line(_verdict(each), 1000))
        for each in results
    )
    title = f"isolation {results[0]['isolation']}, scores {results[0]['score_source']}"
    return Table("evaluation", title, (*columns, Column("result")), tuple(rows))


def _trajectories(results: list[dict[str, Any]]) -> Table:
    """Return the table of the trajectories in the results' documents: a row for each program and instance."""
    columns = Column("program"), Column("instance", COUNT), Column("kind"), Column("values")
    rows = (
        (one_line(result["file"]), number, each["kind"], one_line(str(each["values"]), 10_000))
        for result in results
        for number, each in enumerate(result["trajectories"], 1)
    )
    return Table("trajectories", "what each program did on each instance", columns, tuple(rows))


def _verdict(result: dict[str, Any]) -> str:
    """Return "ok", or at which stage and why the program of a document was rejected."""
    return "ok" if result["status"] == "ok" else f"{result['stage']}: {result['reason']}: {result['message']}"
