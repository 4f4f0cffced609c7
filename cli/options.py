"""Options that several verbs share, and how their texts are read."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from behavesim.errors import UsageError
from behavesim.text import printable

RunsDir = Annotated[Path, typer.Option("--runs-dir", help="Folder of the run folders.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
Assignments = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting; repeatable.")]

RUNS = Path("runs")

REJECTED = 3
"""The exit code where a program that was given is rejected."""
INTERRUPTED = 130
"""The exit code where a person or the system ended the command, in order."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str | None) -> float | None:
    """A duration such as 90, 90s, 30m, 2h or 1d, in seconds; raises UsageError where it is none."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if match is None:
        raise UsageError(f"--max-time takes a duration such as 90s, 30m or 2h, not {text!r}")
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


def tell(text: str) -> None:
    """Say something on stderr, in a line of its own, above a live view where there is one."""
    print(f"behavesim: {printable(text)}", file=sys.stderr)  # noqa: T201 - typer.echo would write into the live view


def busy(text: str) -> None:
    """Tell a person at a terminal what takes a while; elsewhere it would be one more line in a log."""
    if sys.stderr.isatty():
        tell(f"{text} …")


def print_json(document: object) -> None:
    """Print one JSON document on stdout."""
    typer.echo(printable(json.dumps(document, indent=2, ensure_ascii=False)))
