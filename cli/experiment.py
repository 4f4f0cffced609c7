"""`behavesim experiment`: many runs, and what they say together."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from behavesim.analysis.metrics import available_metrics
from behavesim.application.experiment.execution import PAGE, Execution, compare_groups, unfinished_runs
from behavesim.application.experiment.plan import Experiment, Planned, estimate, plan, read_experiment, too_few_seeds
from behavesim.application.session import run_until_asked_to_end
from behavesim.base.config import cores
from behavesim.base.errors import INTERRUPTED, UsageError
from behavesim.base.text import count_noun
from behavesim.proposers.openai_settings import has_endpoint
from behavesim.proposers.proposer import proposer_type
from behavesim.reports.comparison_sections import comparison_tables, remarks, verdict_lines
from behavesim.reports.files import json_document
from behavesim.reports.terminal import show
from behavesim.store.folder import RunFolder

from .options import RUNS, AsJson, RunsDir, workers_option
from .output import print_result, tell

Plan = Annotated[Path, typer.Argument(metavar="FILE.toml", help="The experiment; some are in experiments/.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Runs made at once (default: 1 if a model is asked, else the cores).")
]
SharedWorkers = Annotated[Any, workers_option("in each run its share of the cores")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for consent before a model is asked, which costs money.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be run and its cost, and run nothing.")]


def experiment(
    file: Plan,
    jobs: Jobs = None,
    yes: Yes = False,
    dry: DryRun = False,
    workers: SharedWorkers = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Make every run of an experiment, or those that are missing, and compare them; exit code 1 if a run failed."""
    described = read_experiment(file)
    planned = plan(described, "openai" if has_endpoint() else "genetic")
    metrics = available_metrics(described.metrics)
    here = runs_dir / described.name
    left = unfinished_runs(planned, here)
    asks_a_model = _announce(described, planned, left, here, dry)
    if dry:
        for run in left:
            typer.echo(run.name)
        return
    if asks_a_model and not yes:
        _confirm()
    again = shlex.join(["behavesim", *sys.argv[1:]])  # with all options that were given
    # by default one run at a time if a model is asked, so that runs do not share the endpoint's rate limits
    at_once = jobs or (1 if asks_a_model else cores())
    failed = _make_runs(left, here, at_once, workers or max(1, cores() // at_once), again)
    made = [run for run in planned if run.name not in failed]
    tell(f"comparing {count_noun(len(made), 'run')}")
    found = asyncio.run(compare_groups(described, made, here, metrics, tell, workers))
    for line in (*remarks(found), *verdict_lines(found)):
        tell(line)
    print_result(found, as_json, json_document, lambda found: show(comparison_tables(found)))
    if not as_json:
        typer.echo(f"page: {here / PAGE}, tables: {here / 'tables'}, everything: {here / 'report.json'}")
    if failed:
        tell(f"{count_noun(len(failed), 'run')} failed ({', '.join(failed)}); the same command tries again")
        raise typer.Exit(1)


def _announce(
    described: Experiment, planned: Sequence[Planned], left: Sequence[Planned], here: Path, dry: bool
) -> bool:
    """Print what is `left` to do of the `planned` runs and what it may cost; return whether it asks a model."""
    # `here` is the folder of the runs. If a proposer lacks something on this machine, such as a key, raises UsageError;
    # if `dry`, what it lacks is printed instead.
    tell(f"{count_noun(len(planned), 'run')}, {len(left)} to do, in {here}")
    asking = [run for run in left if proposer_type(run.settings.proposer).costs_money]
    for missing in sorted({proposer_type(run.settings.proposer).missing() for run in left} - {""}):
        if not dry:
            raise UsageError(missing)
        tell(missing)
    cost = estimate(asking, planned, here) if asking else None
    asks_a_model = cost is not None and cost.tokens.calls > 0  # some may lack their recommended program alone
    if cost is not None and asks_a_model:
        tell(cost.sentence)
    if left and (few := too_few_seeds(described, planned)):
        tell(few)
    return asks_a_model


def _confirm() -> None:
    """Ask the person whether the experiment may ask a model; raises typer.Exit with code 1 if not."""
    if not sys.stdin.isatty():
        raise UsageError("this experiment asks a model, which costs money; say --yes to allow that")
    if not typer.confirm("Go ahead?", err=True):
        raise typer.Exit(1)


def _make_runs(left: Sequence[Planned], here: Path, jobs: int, workers: int | str, again: str) -> list[str]:
    """Make the runs that are left in the folder `here`, `jobs` at once; return the names of the failed ones."""
    # Each evaluates `workers` programs at once, or on the cluster of that name. If interrupted, says on stderr with
    # which command (`again`) to go on, and exits.
    if left:
        first = RunFolder(here / left[0].name).argument
        tell(f"up to {jobs} at once; see one go on with: behavesim report {first} --follow")
    execution = Execution(left, here, jobs, workers, lambda line: typer.echo(line, err=True))
    try:
        return run_until_asked_to_end(execution.run(), execution.end)
    except KeyboardInterrupt:
        tell(f"interrupted; go on with: {again}")
        raise typer.Exit(INTERRUPTED) from None
