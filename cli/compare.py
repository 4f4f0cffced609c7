"""`behavesim compare`: how similar programs are."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from behavesim.analysis.similarities import ProgramSimilarities, similarities, similarities_of_source
from behavesim.application.evaluation import Evaluation, evaluate, read_program
from behavesim.base.errors import DistanceError, UsageError
from behavesim.code_similarity.named import NAMES
from behavesim.engine.settings import resolve
from behavesim.reports.heatmap import check_figure, draw_heatmap
from behavesim.reports.terminal import show
from behavesim.similarity import BehaveSim
from behavesim.similarity.settings import Measure
from behavesim.state.verdict import Failure
from behavesim.task import Split, Task, TaskReference
from behavesim.trajectory import AlgorithmRun

from .options import AllowWeakIsolation, AsJson, Assignments, HeldOut, TaskName
from .output import REJECTED, busy, print_json, tell

ALIGNMENTS = "dtw, erp, mean or cosine"


def compare(
    task: TaskName,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE FILE...", help="Programs; `template` is the task's own.")
    ],
    metric: Annotated[
        str, typer.Option("--metric", help=f"BehaveSim by {ALIGNMENTS}; or of their text, {', '.join(NAMES)}.")
    ] = "dtw",
    normaliser: Annotated[
        str | None, typer.Option("--normaliser", help="The greatest distance of two solutions, or 'pair'.")
    ] = None,
    truncate: Annotated[float, typer.Option(help="Proportion of each trajectory to drop at its end.")] = 0.0,
    skip: Annotated[int, typer.Option(help="States to skip between kept ones.")] = 0,
    raw: Annotated[bool, typer.Option("--raw", help="Do not bound each similarity to 0…1.")] = False,
    held_out: HeldOut = False,
    figure: Annotated[Path | None, typer.Option(metavar="F.png|svg|pdf", help="Draw a heat map, too.")] = None,
    allow_weak_isolation: AllowWeakIsolation = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Compare programs by behaviour (BehaveSim), or by a metric of their text; exit code 3 if one is rejected."""
    if len(files) < 2:
        raise UsageError("compare takes two programs or more; `template` names the task's own")
    reference = TaskReference(task).resolved()
    loaded = reference.load()
    settings = resolve({"task": reference.text, "allow_weak_isolation": allow_weak_isolation}, assignments, task=loaded)
    if figure is not None:
        check_figure(figure)
    programs = [(str(file), read_program(file, loaded)) for file in files]
    if metric in NAMES:
        _report(similarities_of_source(programs, metric), f"{loaded.name}: {metric}", figure, as_json)
        return
    measure = BehaveSim(_normaliser(normaliser, loaded), _measure(metric), truncate, skip, clip=not raw)
    split: Split = "held-out" if held_out else "search"
    busy(f"trying {', '.join(file for file, _ in programs)} on {split} instances")
    results = asyncio.run(evaluate(settings, loaded, programs, split))
    behaviours = _behaviours(results)
    try:
        found = similarities([file for file, _ in programs], behaviours, measure)
    except DistanceError as error:
        if normaliser is not None:
            raise
        raise UsageError(f"{error}: {loaded.name}'s own is not, here; give --normaliser pair") from None
    _report(found, f"{loaded.name}: BehaveSim ({metric})", figure, as_json)


def _report(found: ProgramSimilarities, title: str, figure: Path | None, as_json: bool) -> None:
    if figure is not None:
        draw_heatmap(found.labels, found.matrix, figure, title=title)
    if as_json:
        print_json(asdict(found))
        return
    typer.echo(", ".join((title, *(f"{name} {value}" for name, value in found.settings.items()))))
    show(found.tables())


def _measure(text: str) -> Measure:
    for known in get_args(Measure):
        if text == known:
            return known  # type: ignore[no-any-return]
    raise UsageError(
        f"compare's --metric is {ALIGNMENTS}, or of text {', '.join(NAMES)}, not {text!r}; "
        "metrics of runs, also of one's own, are for `behavesim report`"
    )


def _normaliser(text: str | None, task: Task) -> float | Literal["pair"]:
    if text is None:
        return task.normaliser
    if text == "pair":
        return "pair"
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--normaliser takes a number or 'pair', not {text!r}") from None


def _behaviours(results: list[Evaluation]) -> list[tuple[AlgorithmRun, ...]]:
    """Return each program's trajectories; raises typer.Exit with code 3, after naming them, if any were rejected."""
    behaviours = []
    for result in results:
        if isinstance(result.verdict, Failure):
            why = f"{result.stage}: {result.verdict.reason}: {result.verdict.message}"
            tell(f"{result.file} was rejected and cannot be compared: {why}")
        else:
            behaviours.append(result.verdict.trajectories)
    if len(behaviours) < len(results):
        raise typer.Exit(REJECTED)
    return behaviours
