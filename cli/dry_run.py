"""`behavesim run --dry-run`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import typer

from behavesim.application.experiment.dry_run import dry_run
from behavesim.base.text import duration, printable
from behavesim.engine.build import Launch

from .output import print_json


def say_what_it_would_take(launch: Launch, as_json: bool) -> None:
    """Print the first prompt, and an estimate of the whole run's sandbox time and model cost; `as_json` prints JSON."""
    found = asyncio.run(dry_run(launch))
    if as_json:
        print_json(asdict(found))
        return
    typer.echo(f"the first prompt:\n\n{printable(found.prompt)}\n")
    programs = f"all {launch.settings.budget:,} programs would run for about {duration(found.evaluating_s)}"
    typer.echo(f"template {found.template_score:.6g}; {programs} if each takes as long as the template")
    typer.echo("no model is asked, which costs nothing" if found.cost is None else found.cost.sentence)
