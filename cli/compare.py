"""`behavesim compare`: how similar programs are."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer

from behavesim.analysis.similarities import ProgramSimilarities, similarities, similarities_of_source
from behavesim.application.evaluation import Evaluation, read_program
from behavesim.application.launch import task_settings
from behavesim.base.errors import DistanceError, UsageError
from behavesim.code_similarity.named import NAMES
from behavesim.reports.heatmap import check_figure, heatmap
from behavesim.reports.terminal import show
from behavesim.similarity import BehaveSim
from behavesim.similarity.settings import Measure
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import AlgorithmRun

from .options import AllowWeakIsolation, AsJson, Assignments, HeldOut, Programs, Shifted, TaskName, split_of
from .output import print_json, tell
from .trial import REJECTED, tried

ALIGNMENTS = "dtw, erp, mean or cosine"
"""The names in `Measure`, as text for messages."""


Metric = Annotated[
    str, typer.Option("--metric", help=f"BehaveSim by {ALIGNMENTS}; or a metric of the text: {', '.join(NAMES)}.")
]
Normaliser = Annotated[
    str | None, typer.Option(help="Divides distances; 'pair' is the longer state's length (default: the task's).")
]


def compare(
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
        raise UsageError("compare takes two programs or more; `template` names the task's own")
    settings, loaded = task_settings(task, {"allow_weak_isolation": allow_weak_isolation}, assignments)
    if figure is not None:
        check_figure(figure)
    programs = [(str(file), read_program(file, loaded)) for file in files]
    if metric in NAMES:
        _report(similarities_of_source(programs, metric), f"{loaded.name}: {metric}", figure, as_json)
        return
    measure = BehaveSim(_normaliser(normaliser, loaded), _measure(metric), truncate, skip, clip=not raw)
    behaviours = _behaviours(tried(settings, loaded, programs, split_of(held_out, shifted)))
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
        heatmap(found.labels, found.matrix, title).savefig(figure)
    if as_json:
        print_json(asdict(found))
    else:
        typer.echo(", ".join((title, *(f"{name} {value}" for name, value in found.settings.items()))))
        show(found.tables())


def _measure(text: str) -> Measure:
    """Return the name of BehaveSim's measure if the text is one; raises UsageError for other texts."""
    if text not in get_args(Measure):
        raise UsageError(
            f"compare's --metric is {ALIGNMENTS}, or of text {', '.join(NAMES)}, not {text!r}; "
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
    behaviours = [result.verdict.trajectories for result in results if isinstance(result.verdict, Verdict)]
    for result in results:
        if isinstance(result.verdict, Failure):
            why = f"{result.stage}: {result.verdict.reason}: {result.verdict.message}"
            tell(f"{result.file} was rejected and cannot be compared: {why}")
    if len(behaviours) < len(results):
        raise typer.Exit(REJECTED)
    return behaviours
