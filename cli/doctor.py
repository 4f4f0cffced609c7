"""`behavesim doctor`: what this machine offers a run."""

from __future__ import annotations

import asyncio

import typer

from behavesim.application.machine import findings
from behavesim.base.text import one_line
from behavesim.proposers.openai_settings import MODEL

from .options import AsJson, Models, weighted_models
from .output import hanging, print_result


def doctor(model: Models = None, as_json: AsJson = False) -> None:
    """Check key, endpoint, models, cores and sandbox; exit code 1 if the endpoint or a sandbox does not work.

    The key is never shown.
    """
    checked = asyncio.run(findings(list(weighted_models(model) or [MODEL])))
    width = max(map(len, checked.found))
    found = (hanging(f"{name:{width}}  ", one_line(str(value))) for name, value in checked.found.items())
    lines = (checked.verdict, "", *found)
    print_result(checked.found, as_json, dict, lambda _: typer.echo("\n".join(lines)))
    if checked.broken:
        raise typer.Exit(1)
