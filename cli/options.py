"""Options that several commands share, and functions that read their texts."""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from behavesim.base.errors import UsageError
from behavesim.store.folder import RunFolder

from .output import tell

RUNS = Path("runs")


def complete_tasks(incomplete: str) -> list[str]:
    """Return, for shell completion, the installed tasks whose names begin so; the shell itself completes paths."""
    from behavesim.task import installed_tasks  # imported late: most commands do not need it

    return [name for name in installed_tasks() if name.startswith(incomplete)]


def complete_runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return, for shell completion, the runs whose ids begin so, newest first, in the folder of --runs-dir."""
    known = RunFolder.all(Path(ctx.params.get("runs_dir") or RUNS))
    return [folder.run for folder in reversed(known) if folder.run.startswith(incomplete)]


TaskName = Annotated[
    str,
    typer.Argument(metavar="TASK", help="A task's name, or the path of a task file.", autocompletion=complete_tasks),
]
OneRun = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]",
        help="A run's id, its beginning, or its folder (default: the newest).",
        autocompletion=complete_runs,
    ),
]
NamedRun = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run's id, its beginning, or its folder.", autocompletion=complete_runs),
]
RunsDir = Annotated[Path, typer.Option("--runs-dir", help="Folder of the run folders.")]


def _print_aside(ctx: typer.Context, as_json: bool) -> bool:
    """Return `as_json`; if it is set, redirect stdout to stderr, so that a task's own prints do not spoil the JSON."""
    if as_json:
        ctx.with_resource(redirect_stdout(sys.stderr))
    return as_json


AsJson = Annotated[
    bool,
    typer.Option("--json", callback=_print_aside, help="Print one JSON document on stdout and nothing else there."),
]
Assignments = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting; repeatable.")]
Models = Annotated[list[str] | None, typer.Option("--model", help="A model, or NAME:WEIGHT; repeatable.")]
HeldOut = Annotated[bool, typer.Option("--held-out", help="On the held-out instances.")]
AllowWeakIsolation = Annotated[
    bool | None, typer.Option("--allow-weak-isolation", help="Run where the sandbox cannot be closed.")
]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def run_folder(runs_dir: Path, run: str | None) -> RunFolder:
    """Return the folder of the run that is named; None means the newest, whose name is printed.

    Raises UsageError if there is no such run.
    """
    if run is not None:
        return RunFolder.find(runs_dir, run)
    newest = RunFolder.newest(runs_dir)
    tell(f"the newest run is {newest.run}")
    return newest


def seconds(text: str | None) -> float | None:
    """Return a duration such as 90, 90s, 30m, 2h or 1d in seconds, None for None; raises UsageError for other texts."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if match is None:
        raise UsageError(
            f"--max-time takes a duration such as 90s, 30m or 2h (seconds where no unit stands), not {text!r}"
        )
    return float(match[1]) * _UNITS[match[2] or "s"]


def weighted_models(texts: list[str] | None) -> dict[str, float] | None:
    """Return models with their weights from texts `NAME` (weight 1) or `NAME:WEIGHT`; None if there are no texts.

    Raises UsageError if a weight is not positive.
    """
    if not texts:
        return None
    models: dict[str, float] = {}
    for text in texts:
        name, separator, weight = text.rpartition(":")
        if separator and re.fullmatch(r"\d+(\.\d+)?", weight):
            models[name] = float(weight)
        else:
            models[text] = 1.0
    if not all(weight > 0 for weight in models.values()):
        raise UsageError("--model takes NAME or NAME:WEIGHT with a positive weight")
    return models
