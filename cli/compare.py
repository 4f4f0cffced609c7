"""`behavesim compare`: how alike programs are by what they do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from behavesim.application.evaluation import Evaluation, evaluate, read_program
from behavesim.config import resolve
from behavesim.errors import DistanceError, UsageError
from behavesim.protocols import Failure
from behavesim.reports.heatmap import check_figure, draw_heatmap
from behavesim.similarity import BehaveSim
from behavesim.task import Split, Task, TaskReference
from behavesim.trajectory import Trajectory

from .options import REJECTED, AsJson, Assignments, busy, print_json, tell

Metric = Literal["dtw", "erp", "mean", "cosine"]


def compare(
    task: Annotated[str, typer.Argument(help="A task's name, or the path of a task file.")],
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE FILE...", help="Programs; `template` is the task's own.")
    ],
    metric: Annotated[Metric, typer.Option("--metric", help="How trajectories are aligned.")] = "dtw",
    normaliser: Annotated[
        str | None, typer.Option("--normaliser", help="The greatest distance of two solutions, or 'pair'.")
    ] = None,
    truncate: Annotated[float, typer.Option(help="Proportion of each trajectory to drop at its end.")] = 0.0,
    skip: Annotated[int, typer.Option(help="States to skip between kept ones.")] = 0,
    raw: Annotated[bool, typer.Option("--raw", help="Do not bound each similarity to 0…1.")] = False,
    held_out: Annotated[bool, typer.Option("--held-out", help="On the held-out instances.")] = False,
    figure: Annotated[Path | None, typer.Option(metavar="F.png|svg|pdf", help="Draw a heat map, too.")] = None,
    allow_weak_isolation: Annotated[
        bool | None, typer.Option("--allow-weak-isolation", help="Run where the sandbox cannot be closed.")
    ] = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Compare programs by behaviour (BehaveSim); exit code 3 where one is rejected."""
    if len(files) < 2:
        raise UsageError("compare takes two programs or more; `template` names the task's own")
    reference = TaskReference(task).resolved()
    loaded = reference.load()
    settings = resolve({"task": reference.text, "allow_weak_isolation": allow_weak_isolation}, assignments)
    measure = BehaveSim(_normaliser(normaliser, loaded), metric, truncate, skip, clip=not raw)
    if figure is not None:
        check_figure(figure)
    programs = [(str(file), read_program(file, loaded)) for file in files]
    split: Split = "held-out" if held_out else "search"
    busy(f"trying {', '.join(file for file, _ in programs)} on {split} instances")
    results = asyncio.run(evaluate(settings, loaded, programs, split))
    behaviours = _behaviours(results)
    try:
        document = _document([file for file, _ in programs], behaviours, measure)
    except DistanceError as error:
        if normaliser is not None:
            raise
        raise UsageError(f"{error}: {loaded.name}'s own is not, here; give --normaliser pair") from None
    if figure is not None:
        draw_heatmap(document["labels"], document["matrix"], figure, title=f"{loaded.name}: BehaveSim ({metric})")
    if as_json:
        print_json(document)
    else:
        _print_table(document)


def _normaliser(text: str | None, task: Task) -> float | Literal["pair"]:
    if text is None:
        return task.normaliser
    if text == "pair":
        return "pair"
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--normaliser takes a number or 'pair', not {text!r}") from None


def _behaviours(results: list[Evaluation]) -> list[tuple[Trajectory, ...]]:
    """The trajectories of every program; says which were rejected, and ends the command where one was."""
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


def _document(labels: list[str], behaviours: list[tuple[Trajectory, ...]], measure: BehaveSim) -> dict[str, Any]:
    return {
        "labels": labels,
        "matrix": measure.matrix(behaviours).tolist(),
        "metric": measure.measure,
        "settings": {
            "normaliser": measure.normaliser,
            "truncate": measure.truncate,
            "skip": measure.skip,
            "clip": measure.clip,
        },
        "per_instance": measure.per_instance(behaviours).tolist(),
    }


def _print_table(document: dict[str, Any]) -> None:
    def table(title: str, matrix: list[list[float]]) -> Table:
        grid = Table("", *map(str, range(1, len(matrix) + 1)), title=title, title_justify="left")
        for number, (label, row) in enumerate(zip(document["labels"], matrix, strict=True), start=1):
            grid.add_row(f"{number} {label}", *(f"{value:.3f}" for value in row))
        return grid

    settings = ", ".join(f"{name} {value}" for name, value in document["settings"].items())
    console = Console()
    console.print(f"BehaveSim: {document['metric']}, {settings}", highlight=False)
    console.print(table("all instances", document["matrix"]))
    if len(document["per_instance"]) > 1:
        for instance, matrix in enumerate(document["per_instance"], start=1):
            console.print(table(f"instance {instance}", matrix))
