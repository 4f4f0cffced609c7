"""`behavesim run` and `behavesim resume`."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    NO_ENDPOINT,
    RUNS,
    AsJson,
    Assignments,
    RunsDir,
    cores,
    has_endpoint,
    print_json,
    seconds,
    weighted_models,
)
from .recommend import recommended
from .signals import when_asked_to_end

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from behavesim.analysis.replayed import Replayed
    from behavesim.analysis.run import Run
    from behavesim.build import Launch
    from behavesim.search import Search
    from behavesim.store.folder import RunFolder

    Begin = Callable[[], AbstractAsyncContextManager[Search]]

INTERRUPTED = 130

Task = Annotated[str, typer.Argument(help="A task's name, or the path of a task file.")]
Budget = Annotated[int | None, typer.Option(help="Candidates to ask for, whatever becomes of them.")]
Workers = Annotated[int | None, typer.Option(help="Programs evaluated at once (default: the cores of this machine).")]
Connections = Annotated[int | None, typer.Option(help="Requests to the model at once.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", metavar="USD", help="Stop before spending more.")]
MaxTokens = Annotated[int | None, typer.Option(help="Stop before using more tokens, prompt and completion together.")]
MaxTime = Annotated[str | None, typer.Option(help="Stop after so long, pauses left out: 90s, 30m, 2h.")]


def run(
    task: Task,
    budget: Budget = None,
    method: Annotated[str | None, typer.Option(help="The search method (default: funsearch+behavesim).")] = None,
    proposer: Annotated[str, typer.Option(help="auto, openai, genetic or replay:RUN.")] = "auto",
    model: Annotated[list[str] | None, typer.Option(help="A model, or NAME:WEIGHT; repeatable.")] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of every draw.")] = None,
    workers: Workers = None,
    connections: Connections = None,
    window: Annotated[int | None, typer.Option(help="Candidates in flight at most; part of what makes a run.")] = None,
    repair: Annotated[int | None, typer.Option(help="Tries a rejected candidate gets, told why it was.")] = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time: MaxTime = None,
    allow_weak_isolation: Annotated[
        bool | None, typer.Option("--allow-weak-isolation", help="Run where the sandbox cannot be closed.")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE.toml", help="Settings from a file.")] = None,
    assignments: Assignments = None,
    runs_dir: RunsDir = RUNS,
    name: Annotated[str | None, typer.Option(help="The run's id (default: task and time).")] = None,
    as_json: AsJson = False,
) -> None:
    """Search for a program; resumable at any moment."""
    from datetime import datetime

    from behavesim.build import Launch, new_search
    from behavesim.config import resolve, task_defaults
    from behavesim.errors import UsageError
    from behavesim.store.folder import RunFolder
    from behavesim.task import TaskReference

    reference = TaskReference(task).resolved()
    loaded = reference.load()
    flags = {
        "task": reference.text,
        "budget": budget,
        "method": method,
        "proposer": None if proposer == "auto" else proposer,
        "models": weighted_models(model),
        "seed": seed,
        "workers": workers,
        "connections": connections,
        "window": window,
        "repair": repair,
        "max_cost_usd": max_cost,
        "max_tokens": max_tokens,
        "max_time_s": seconds(max_time),
        "allow_weak_isolation": allow_weak_isolation,
    }
    unsaid = "openai" if model or has_endpoint() else "genetic"  # who names a model wants it asked
    defaults = {**task_defaults(loaded), "workers": cores(), "proposer": unsaid}
    settings = resolve(flags, assignments, config, defaults)
    if settings.proposer == "openai" and not has_endpoint():
        raise UsageError(f"{NO_ENDPOINT}; --proposer genetic asks none")
    folder = RunFolder.named(runs_dir, name or RunFolder.fresh_name(loaded.name, datetime.now()))
    launch = Launch(settings, loaded, folder)
    if proposer == "auto" and settings.proposer == "genetic" and not has_endpoint():
        typer.echo("behavesim: no OPENAI_API_KEY is set, so the offline proposer writes the programs", err=True)
    _carry_out(launch, lambda: new_search(launch), as_json)


def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id or folder.")],
    budget: Budget = None,
    workers: Workers = None,
    connections: Connections = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time: MaxTime = None,
    assignments: Assignments = None,
    fork: Annotated[
        str | None, typer.Option(metavar="NEW-ID", help="Go on as a new run, with what was changed.")
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Go on with a run from its last event; needs nothing but the run."""
    import asyncio

    from behavesim.analysis.run import load_run
    from behavesim.build import Launch, forked_search, refuse_changes, resumed_search
    from behavesim.config import amended
    from behavesim.store.folder import RunFolder
    from behavesim.store.journal import count_told
    from behavesim.task import TaskReference

    folder = RunFolder.find(runs_dir, run)
    changes = {
        "budget": budget,
        "workers": workers,
        "connections": connections,
        "max_cost_usd": max_cost,
        "max_tokens": max_tokens,
        "max_time_s": seconds(max_time),
    }
    settings = amended(folder.read_settings(), changes, assignments)
    task = TaskReference(settings.task).load()
    if fork is not None:
        new = Launch(settings, task, RunFolder.named(runs_dir, fork))
        _carry_out(new, lambda: forked_search(new, folder), as_json)
        return
    launch = Launch(settings, task, folder)
    if count_told(folder.journal) >= settings.budget:
        refuse_changes(launch)
        if settings.recommend and load_run(folder.path).state.recommended is None:
            asyncio.run(recommended(folder, task))
        _report_end(folder, as_json, f"run {folder.run} is finished; give it a larger --budget to go on")
        return
    _carry_out(launch, lambda: resumed_search(launch), as_json)


def _carry_out(launch: Launch, begin: Begin, as_json: bool) -> None:
    import asyncio

    from behavesim.errors import BehavesimError

    run = launch.folder.argument
    try:
        reason = asyncio.run(_searched(launch, begin))
    except BehavesimError as error:
        if error.exit_code == 1 and launch.folder.has_begun():
            typer.echo(f"behavesim: what has arrived is kept; go on with: behavesim resume {run}", err=True)
        raise
    if reason == "interrupted" and not launch.folder.has_begun():
        typer.echo("behavesim: interrupted before the run began; nothing is left behind", err=True)
        raise typer.Exit(INTERRUPTED)
    if reason == "interrupted":
        typer.echo(f"behavesim: interrupted; everything is kept, go on with: behavesim resume {run}", err=True)
    _report_end(launch.folder, as_json, _next_step(run, reason))
    if reason == "interrupted":
        raise typer.Exit(INTERRUPTED)


async def _searched(launch: Launch, begin: Begin) -> str:
    import asyncio

    this = asyncio.current_task()
    assert this is not None
    when_asked_to_end(this.cancel)
    try:
        async with begin() as search:
            when_asked_to_end(partial(search.stop, "interrupted"))
            reason = await _shown(launch, search)
        if reason != "interrupted" and launch.settings.recommend:
            when_asked_to_end(this.cancel)
            await recommended(launch.folder, launch.task)
    except asyncio.CancelledError:
        return "interrupted"
    return reason


async def _shown(launch: Launch, search: Search) -> str:
    """Run the search, and show it."""
    from behavesim.reports.panels import Moment

    from .console import Rate, shown

    rate = Rate(search.state.told)

    def moment() -> Moment:
        state, caps = search.state, search.caps
        speed = rate.of(state.told)
        cost = caps.cost(state)
        return Moment(launch.folder.run, launch.settings, state, caps.active_s(), speed, cost, search.is_warming)

    async with shown(moment):
        return await search.run()


def _report_end(folder: RunFolder, as_json: bool, next_step: str) -> None:
    from rich.console import Console

    from behavesim.analysis.run import load_run
    from behavesim.reports.summary import summary, summary_table

    run = load_run(folder.path)
    document, beside = summary(run), _beside_its_original(run)
    if as_json:
        print_json(document if beside is None else {**document, "replay": asdict(beside)})
        return
    console = Console()
    console.print(summary_table(document))
    for line in [] if beside is None else beside.lines():
        console.print(line, highlight=False, soft_wrap=True)
    if folder.best.exists():
        console.print(f"best program: {folder.best}", highlight=False, soft_wrap=True)
    if folder.recommended.exists():
        console.print(f"recommended program: {folder.recommended}", highlight=False, soft_wrap=True)
    console.print(next_step, highlight=False, soft_wrap=True)


def _beside_its_original(run: Run) -> Replayed | None:
    """How a replay differs from the run whose replies it had; None of any other run."""
    from behavesim.analysis.replayed import replayed
    from behavesim.store.folder import RunFolder

    kind, _, original = run.settings.proposer.partition(":")
    if kind != "replay":
        return None
    return replayed(run.folder, RunFolder.find(run.folder.path.parent, original))


def _next_step(run: str, reason: str) -> str:
    if reason in ("budget", "interrupted"):  # how to go on with an interrupted one has been said
        return f"next: behavesim report {run}"
    return f"stopped by {reason}; next: behavesim resume {run}, or behavesim report {run}"
