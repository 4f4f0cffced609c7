"""`behavesim evaluate` and `behavesim similarity`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import typer

from behavesim.analysis.difference import ProgramSimilarities, similarities, similarities_of_source
from behavesim.analysis.table import COUNT, FRACTION, SCORE, SECONDS, Column, Table
from behavesim.application.evaluation import Evaluation, absence, read_program
from behavesim.application.launch import task_settings
from behavesim.base.errors import DistanceError, UsageError
from behavesim.base.text import one_line
from behavesim.code_similarity.metric import NAMES
from behavesim.reports.chart import check_figure
from behavesim.reports.figures import heatmap
from behavesim.reports.terminal import show
from behavesim.sandbox.limits import Limits
from behavesim.similarity import BehaveSim
from behavesim.similarity.pairs import Measure
from behavesim.task import Split, Task
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import AlgorithmRun

from .options import (
    AllowWeakIsolation,
    AsJson,
    Assignments,
    HeldOut,
    OneWorker,
    Programs,
    Shifted,
    TaskName,
    chosen_split,
)
from .output import REJECTED, print_json, tell, try_once


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
    split = chosen_split(held_out, shifted)
    if said := absence(loaded, split, settings.task):
        tell(said)
        if as_json:
            print_json([])
        return
    limits = Limits.of(settings).on(loaded, split)  # other splits may have more instances, and so more time
    verdicts = try_once(settings, loaded, programs, split, f", each {limits.in_words}")
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


# `behavesim similarity`: how similar programs are.


# The names in `Measure`, as text for messages.
ALIGNMENTS = "dtw, erp, mean or cosine"


Metric = Annotated[
    str, typer.Option("--metric", help=f"BehaveSim by {ALIGNMENTS}; or a metric of the text: {', '.join(NAMES)}.")
]
Normaliser = Annotated[
    str | None, typer.Option(help="Divides distances; 'pair' is the longer state's length (default: the task's).")
]


def similarity(
    task: TaskName,
    files: Programs,
    metric: Metric = "dtw",
    normaliser: Normaliser = None,
    truncate: Annotated[float, typer.Option(help="Share (0 to 1) of each trajectory to drop at its end.")] = 0.0,
    skip: Annotated[int, typer.Option(help="Number of states to skip between two that are kept.")] = 0,
    raw: Annotated[bool, typer.Option("--raw", help="Do not bound each similarity to 0…1.")] = False,
    held_out: HeldOut = False,
    shifted: Shifted = False,
    figure: Annotated[
        Path | None, typer.Option(metavar="F.png|svg|pdf", help="Also draw a heat map into this file.")
    ] = None,
    allow_weak_isolation: AllowWeakIsolation = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Compare programs by behaviour (BehaveSim), or by a metric of their text; exit code 3 if one is rejected."""
    if len(files) < 2:
        raise UsageError("similarity takes two programs or more; `template` names the task's own")
    settings, loaded = task_settings(task, {"allow_weak_isolation": allow_weak_isolation}, assignments)
    if figure is not None:
        check_figure(figure)
    programs = [(str(file), read_program(file, loaded)) for file in files]
    if metric in NAMES:
        _report(similarities_of_source(programs, metric), f"{loaded.name}: {metric}", figure, as_json)
        return
    measure = BehaveSim(_normaliser(normaliser, loaded), _measure(metric), truncate, skip, clip=not raw)
    behaviours = _behaviours(try_once(settings, loaded, programs, chosen_split(held_out, shifted)))
    try:
        found = similarities([file for file, _ in programs], behaviours, measure)
    except DistanceError as error:  # the task's constant holds for its own solutions, and may not for these
        if normaliser is not None:
            raise
        raise UsageError(f"{error}: {loaded.name}'s own is not, here; give --normaliser pair") from None
    _report(found, f"{loaded.name}: BehaveSim ({metric})", figure, as_json)


def _report(found: ProgramSimilarities, title: str, figure: Path | None, as_json: bool) -> None:
    """Print similarities below a title, or as JSON alone; draw them into the file `figure` unless that is None."""
    if figure is not None:
        heatmap(found.labels, found.matrix, title).write(figure)
    if as_json:
        print_json(asdict(found))
    else:
        typer.echo(", ".join((title, *(f"{name} {value}" for name, value in found.settings.items()))))
        show(found.tables())


def _measure(text: str) -> Measure:
    """Return the name of BehaveSim's measure if the text is one; raises UsageError for other texts."""
    if text not in get_args(Measure):
        raise UsageError(
            f"similarity's --metric is {ALIGNMENTS}, or of text {', '.join(NAMES)}, not {text!r}; "
            "metrics of runs, also of one's own, are for `behavesim report`"
        )
    return cast(Measure, text)


def _normaliser(text: str | None, task: Task) -> float | Literal["pair"]:
    """Return the normaliser that the text names, the task's own if it is None; raises UsageError for other texts."""
    if text is None:
        return task.normaliser
    if text == "pair":
        return "pair"
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--normaliser takes a number or 'pair', not {text!r}") from None


def _behaviours(results: list[Evaluation]) -> list[tuple[AlgorithmRun, ...]]:
    """Return each program's trajectories; if any were rejected, print why, and raise typer.Exit with code 3."""
    behaviours = [tuple(result.verdict.trajectories) for result in results if isinstance(result.verdict, Verdict)]
    for result in results:
        if isinstance(result.verdict, Failure):
            why = f"{result.stage}: {result.verdict.reason}: {result.verdict.message}"
            tell(f"{result.file} was rejected and cannot be compared: {why}")
    if len(behaviours) < len(results):
        raise typer.Exit(REJECTED)
    return behaviours
