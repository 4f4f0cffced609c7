"""`behavesim run --dry-run`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path

import typer

from behavesim.application.experiment.dry_run import DryRun, dry_run
from behavesim.base.text import duration, printable
from behavesim.engine.build import Launch
from behavesim.sandbox.limits import Limits

from .output import print_result, say


def say_what_it_would_take(launch: Launch, as_json: bool) -> None:
    """Print the first prompt, and an estimate of the whole run's sandbox time and model cost; `as_json` prints JSON."""
    print_result(asyncio.run(dry_run(launch)), as_json, asdict, lambda found: _show(found, launch))


def _show(found: DryRun, launch: Launch) -> None:
    """Print the first prompt, and what a run is expected to take."""
    settings, budget = launch.settings, launch.settings.budget
    typer.echo(f"the first prompt:\n\n{printable(found.prompt)}\n")
    programs = f"all {budget:,} programs take about {duration(found.evaluating_s)} in the sandbox"
    say(f"template {found.template_score:.6g}; {programs} if each takes as long as the template")
    # the limit that comes with an installed task is chosen: with another, results differ from those of other people
    is_chosen = not Path(settings.task).suffix and settings.timeout_s == launch.task.timeout_s
    slack = Limits.of(settings).slack(found.evaluating_s * settings.workers_here / budget)
    if slack and not is_chosen:
        say(slack)
    say("comparing programs and the model's replies take time besides, often more")
    say("no model is asked, which costs nothing" if found.cost is None else found.cost.sentence)
