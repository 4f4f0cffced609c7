"""`behavesim experiment`: many runs, and what they say together."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from behavesim.analysis.own_metrics import known_metrics
from behavesim.application.experiment.estimate import estimate
from behavesim.application.experiment.execution import Execution, unfinished
from behavesim.application.experiment.plan import Planned, plan, read_experiment
from behavesim.application.experiment.report import compared
from behavesim.application.machine import cores, has_endpoint
from behavesim.application.signals import run_until_asked_to_end
from behavesim.base.errors import INTERRUPTED, UsageError
from behavesim.base.text import number
from behavesim.proposers.installed import proposer_type
from behavesim.reports.comparison import comparison_tables, remarks
from behavesim.reports.document import document
from behavesim.reports.terminal import show
from behavesim.store.folder import RunFolder

from .options import RUNS, AsJson, RunsDir
from .output import print_json, tell


def experiment(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The experiment; some are in experiments/.")],
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once (default: offline the cores, else 1).")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask a model without asking you first.")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Make every run of an experiment, or those that are missing, and compare them."""
    described = read_experiment(file)
    planned = plan(described, "openai" if has_endpoint() else "genetic")
    metrics = known_metrics(described.metrics)
    here = runs_dir / described.name
    left = unfinished(planned, here)
    tell(f"{number(len(planned), 'run')}, {len(left)} to do, in {here}")
    asking = [run for run in left if proposer_type(run.settings.proposer).costs_money]
    for missing in sorted({proposer_type(run.settings.proposer).missing() for run in left} - {""}):
        if not dry:
            raise UsageError(missing)
        tell(missing)
    if asking:
        tell(estimate(asking, planned, here).sentence)
    if dry:
        for run in left:
            typer.echo(run.name)
        return
    if asking and not yes:
        _confirm()
    again = ["behavesim", "experiment", str(file), *([] if runs_dir == RUNS else ["--runs-dir", str(runs_dir)])]
    failed = _carried_out(left, here, jobs or (1 if asking else cores()), shlex.join(again))
    made = [run for run in planned if run.name not in failed]
    tell(f"comparing {number(len(made), 'run')}")
    found = asyncio.run(compared(described, made, here, metrics, tell))
    for remark in remarks(found):
        tell(remark)
    if as_json:
        print_json(document(found))
    else:
        show(comparison_tables(found))
        typer.echo(f"tables: {here / 'tables'}, everything: {here / 'report.json'}")
    if failed:
        tell(f"{number(len(failed), 'run')} failed ({', '.join(failed)}); the same command tries again")
        raise typer.Exit(1)


def _confirm() -> None:
    if not sys.stdin.isatty():
        raise UsageError("this experiment asks a model, which costs money; say --yes if it shall")
    if not typer.confirm("Go ahead?", err=True):
        raise typer.Exit(1)


def _carried_out(left: Sequence[Planned], here: Path, jobs: int, again: str) -> list[str]:
    if left:
        first = RunFolder(here / left[0].name).argument
        tell(f"up to {jobs} at once; see one go on with: behavesim watch {first}")
    execution = Execution(left, here, jobs, max(1, cores() // jobs), lambda line: typer.echo(line, err=True))
    try:
        return run_until_asked_to_end(execution.run(), execution.end)
    except asyncio.CancelledError:
        tell(f"interrupted; go on with: {again}")
        raise typer.Exit(INTERRUPTED) from None
