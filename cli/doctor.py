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
    """Check key, endpoint, models, cores and sandbox; exits with 1 if one does not work. The key is never shown."""
    checked = asyncio.run(findings(list(weighted_models(model) or [MODEL])))
    found = checked.found
    if as_json:
        print_json(dict(found))
    else:
        width = max(map(len, found))
        for name, value in found.items():
            typer.echo(f"{name:{width}} {one_line(str(value))}")
    if checked.broken:
        raise typer.Exit(1)
