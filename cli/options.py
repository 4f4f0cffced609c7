"""Options that several verbs share, and how their texts are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

RunsDir = Annotated[Path, typer.Option("--runs-dir", help="Folder of the run folders.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
Assignments = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting; repeatable.")]

RUNS = Path("runs")

NO_ENDPOINT = "asking a model needs OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint without keys"

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str | None) -> float | None:
    """A duration such as 90, 90s, 30m, 2h or 1d, in seconds; raises UsageError where it is none."""
    from behavesim.errors import UsageError

    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if match is None:
        raise UsageError(f"--max-time takes a duration such as 90s, 30m or 2h, not {text!r}")
    return float(match[1]) * _UNITS[match[2] or "s"]


def weighted_models(texts: list[str] | None) -> dict[str, float] | None:
    """Models with weights from `NAME` or `NAME:WEIGHT`; raises UsageError where a weight is not positive."""
    from behavesim.errors import UsageError

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


def has_endpoint() -> bool:
    """Whether the environment names a model's endpoint, or a key for the usual one."""
    import os

    return bool(os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"))


def cores() -> int:
    """The cores this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def busy(text: str) -> None:
    """Tell a person at a terminal what takes a while; elsewhere it would be one more line in a log."""
    import sys

    if sys.stderr.isatty():
        typer.echo(f"behavesim: {text} …", err=True)


def print_json(document: object) -> None:
    """Print one JSON document on stdout."""
    import json

    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
