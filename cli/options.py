"""Options that several verbs share, and how their texts are read."""

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
    """For a shell: the installed tasks that begin so. With a task file's path the shell itself knows how to go on."""
    from behavesim.task import installed_tasks  # which most commands that have options can do without

    return [name for name in installed_tasks() if name.startswith(incomplete)]


def complete_runs(ctx: typer.Context, incomplete: str) -> list[str]:
    """For a shell: the runs that begin so, the newest first, below the folder that is named or the usual one."""
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
    """Whatever a task's own code prints goes to stderr until the command ends."""
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
    """The folder of the run that is named, or of the newest, which is said; raises UsageError where there is none."""
    if run is not None:
        return RunFolder.find(runs_dir, run)
    newest = RunFolder.newest(runs_dir)
    tell(f"the newest run is {newest.run}")
    return newest


def seconds(text: str | None) -> float | None:
    """A duration such as 90, 90s, 30m, 2h or 1d, in seconds; raises UsageError where it is none."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if match is None:
        raise UsageError(
            f"--max-time takes a duration such as 90s, 30m or 2h (seconds where no unit stands), not {text!r}"
        )
    return float(match[1]) * _UNITS[match[2] or "s"]


def weighted_models(texts: list[str] | None) -> dict[str, float] | None:
    """Models with weights from `NAME` or `NAME:WEIGHT`; raises UsageError where a weight is not positive."""
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
