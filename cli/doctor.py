"""`behavesim doctor`: what this machine offers a run."""

from __future__ import annotations

import asyncio

import typer

from behavesim.application.machine import findings

from .options import AsJson
from .output import print_json


def doctor(as_json: AsJson = False) -> None:
    """Check key, endpoint, cores and sandbox; the key itself is never shown."""
    found = asyncio.run(findings())
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        typer.echo(f"{name:12} {value}")
