"""`behavesim export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from behavesim.base.errors import UsageError
from behavesim.base.text import counted
from behavesim.reports.export import LINES, write_export

from .options import RUNS, NamedRun, RunsDir, read_run

MLflowUri = Annotated[
    str | None,
    typer.Option("--mlflow", metavar="URI", help="Log the run to MLflow: a tracking URI or a folder."),
]
Project = Annotated[
    str | None,
    typer.Option("--wandb", metavar="PROJECT", help="Log the run for Weights & Biases, offline: see `wandb sync`."),
]
TensorBoardDir = Annotated[
    str | None, typer.Option("--tensorboard", metavar="DIR", help="Write the run as TensorBoard's files, below DIR.")
]


def export(
    run: NamedRun,
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="A new or empty folder for programs.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Write every program as a file, repeated and rejected ones too.")
    ] = False,
    mlflow: MLflowUri = None,
    wandb: Project = None,
    tensorboard: TensorBoardDir = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write the distinct feasible programs of a run as files named by number, and all its candidates as JSON lines.

    They are written to DIR. With an option for a tracker, the run is logged to it, too; then DIR may be left out. A run
    that is going on can be logged, and an earlier log of the run is continued.
    """
    targets = {"mlflow": mlflow, "wandb": wandb, "tensorboard": tensorboard}
    chosen = {name: target for name, target in targets.items() if target is not None}
    if folder is None and not chosen:
        raise UsageError("name a folder for the programs, or --mlflow, --wandb or --tensorboard")
    loaded = read_run(runs_dir, run)
    if chosen:
        from behavesim.application.trackers.tracking import track  # imported late: most exports need no tracker

        for name, target in chosen.items():
            track(name, target, loaded.folder.path).close()
            typer.echo(f"logged {counted(loaded.state.registered, 'candidate')} to {name}: {target}")
    if folder is not None:
        count = write_export(loaded, folder, every)
        every_line = f"all {len(loaded.candidates)} candidates to {folder / LINES}"
        typer.echo(f"wrote {counted(count, 'program')} to {folder}, and {every_line}")
