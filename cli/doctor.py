"""`behavesim doctor`: what this machine offers a run."""

from __future__ import annotations

import asyncio

import typer

from behavesim.application.machine import findings
from behavesim.base.text import one_line
from behavesim.proposers.openai_settings import MODEL

from .options import AsJson, Models, weighted_models
from .output import print_json


def doctor(model: Models = None, as_json: AsJson = False) -> None:
    """Check key, endpoint, models, cores and sandbox; the key itself is never shown."""
    found = asyncio.run(findings(list(weighted_models(model) or [MODEL])))
    if as_json:
        print_json(found)
        return
    width = max(map(len, found))
    for name, value in found.items():
        typer.echo(f"{name:{width}} {one_line(str(value))}")
