"""`behavesim experiment`: many runs, and what they say together."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import NO_ENDPOINT, RUNS, AsJson, RunsDir, cores, has_endpoint, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from behavesim.experiment import Experiment, Planned

    from .laboratory import Bench

INTERRUPTED = 130


def experiment(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The experiment; some are in experiments/.")],
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at once (default: offline the cores, else 1).")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask a model without asking you first.")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Make every run of an experiment, or those that are missing, and compare them."""
    from behavesim.errors import UsageError
    from behavesim.experiment import plan, read_experiment

    from .laboratory import Bench, left_to_do

    described = read_experiment(file)
    planned = plan(described, "openai" if has_endpoint() else "genetic")
    here = runs_dir / described.name
    left = left_to_do(planned, here)
    typer.echo(f"behavesim: {len(planned)} runs, {len(left)} of them to do, in {here}", err=True)
    asks = any(run.settings.proposer == "openai" for run in left)
    if asks and not has_endpoint():
        if not dry:
            raise UsageError(NO_ENDPOINT)
        typer.echo(f"behavesim: {NO_ENDPOINT}", err=True)
    if asks:
        typer.echo(f"behavesim: {_estimate(left, planned, here)}", err=True)
    if dry:
        for run in left:
            typer.echo(run.name)
        return
    if asks and not yes:
        _confirm()
    at_once = jobs or (1 if asks else cores())
    again = ["behavesim", "experiment", str(file), *([] if runs_dir == RUNS else ["--runs-dir", str(runs_dir)])]
    failed = _carried_out(left, Bench(here, at_once, max(1, cores() // at_once)), shlex.join(again))
    _report(described, [run for run in planned if run.name not in failed], here, as_json)
    if failed:
        typer.echo(
            f"behavesim: {len(failed)} runs failed ({', '.join(failed)}); the same command tries again", err=True
        )
        raise typer.Exit(1)


def _carried_out(left: Sequence[Planned], bench: Bench, again: str) -> list[str]:
    import asyncio

    from behavesim.store.folder import RunFolder

    from .laboratory import carry_out

    bench.runs_dir.mkdir(parents=True, exist_ok=True)
    if left:
        first = RunFolder(bench.runs_dir / left[0].name).argument
        typer.echo(f"behavesim: up to {bench.jobs} at once; see one go on with: behavesim watch {first}", err=True)
    try:
        return asyncio.run(carry_out(left, bench, lambda line: typer.echo(line, err=True)))
    except KeyboardInterrupt:
        typer.echo(f"behavesim: interrupted; go on with: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _report(described: Experiment, planned: Sequence[Planned], here: Path, as_json: bool) -> None:
    """Compare the runs, keep the tables beside them as report.json and CSV files, and show them."""
    import json

    from rich.console import Console

    from behavesim.analysis.run import load_run
    from behavesim.reports.comparison import comparison_tables, write_csv
    from behavesim.reports.document import document

    from .report import found_held_out

    typer.echo(f"behavesim: comparing {len(planned)} runs", err=True)
    runs = [load_run(here / run.name) for run in planned]
    full = document(runs, found_held_out(runs) if described.held_out else None, described.tests)
    (here / "report.json").write_text(json.dumps(full, indent=1), encoding="utf-8")
    write_csv(full, here / "tables")
    if as_json:
        print_json(full)
        return
    console = Console()
    for table in comparison_tables(full["comparison"]):
        console.print(table)
    console.print(f"tables: {here / 'tables'}, everything: {here / 'report.json'}", highlight=False, soft_wrap=True)


COMPLETION = 2500
"""Tokens of a reply, its reasoning included, where nothing is known of the model yet."""
GROWTH = 3
"""How many times as long as the template the programs of a prompt are taken to be."""


def _estimate(left: Sequence[Planned], planned: Sequence[Planned], here: Path) -> str:
    """What the runs still to be made will take: from what those made so far took, else from rules of thumb."""
    from behavesim.proposers.prices import Prices
    from behavesim.state import Tokens
    from behavesim.store.progress import progress

    known = {run.name: progress(here / run.name / "run.db") for run in planned if (here / run.name / "run.db").exists()}
    asking = [run for run in left if run.settings.proposer == "openai"]
    calls = sum(run.settings.budget - (known[run.name].told if run.name in known else 0) for run in asking)
    answered = sum(found.calls for found in known.values())
    if answered:
        each_in = sum(found.prompt_tokens for found in known.values()) / answered
        each_out = sum(found.completion_tokens for found in known.values()) / answered
        source = f"as in the {answered:,} requests so far"
    else:
        each_in, each_out = _prompt_tokens(asking), float(COMPLETION)
        source = f"guessing {each_in:,.0f} tokens a prompt and {COMPLETION:,} a reply"
    tokens = Tokens(calls, prompt=round(calls * each_in), completion=round(calls * each_out))
    settings = asking[0].settings
    costs = [Prices.extended(settings.prices).cost(model, tokens) for model in settings.models]
    cost = "at an unknown price" if None in costs else f"about ${max(cost or 0.0 for cost in costs):,.2f}"
    about = f"about {calls:,} requests to {', '.join(settings.models)}"
    return f"{about}, {tokens.prompt:,} tokens in, {tokens.completion:,} out, {cost} ({source})"


def _prompt_tokens(asking: Sequence[Planned]) -> float:
    """Tokens of a typical prompt, at four characters each: the description and a few programs."""
    from behavesim.task import TaskReference

    lengths = []
    for run in asking:
        task = TaskReference(run.settings.task).load()
        programs = run.settings.examples_per_prompt * GROWTH * len(task.template)
        lengths.append((len(task.description) + programs + 400) / 4)
    return sum(lengths) / len(lengths)


def _confirm() -> None:
    import sys

    from behavesim.errors import UsageError

    if not sys.stdin.isatty():
        raise UsageError("this experiment asks a model, which costs money; say --yes if it shall")
    if not typer.confirm("Go ahead?", err=True):
        raise typer.Exit(1)
