"""`behavesim run` and `behavesim resume`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from behavesim.application import session
from behavesim.application.console import shown_search
from behavesim.application.launch import new_launch, next_launch
from behavesim.application.machine import has_endpoint
from behavesim.application.pauses import shorten_pauses
from behavesim.application.signals import run_until_asked_to_end
from behavesim.base.errors import INTERRUPTED, BehavesimError, JournalError
from behavesim.engine.build import Launch
from behavesim.sandbox import Limits
from behavesim.store.folder import RunFolder

from .options import (
    RUNS,
    AllowWeakIsolation,
    AsJson,
    Assignments,
    Models,
    OneRun,
    RunsDir,
    TaskName,
    run_folder,
    seconds,
    weighted_models,
)
from .output import busy, tell
from .streams import take_loss

Budget = Annotated[int | None, typer.Option(help="Number of programs to generate, including rejected ones.")]
Workers = Annotated[int | None, typer.Option(help="Programs evaluated at once (default: the cores of this machine).")]
Connections = Annotated[int | None, typer.Option(help="Most requests to the model at once.")]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", help="Send no request that could cost more in all.")
]
MaxTokens = Annotated[
    int | None, typer.Option(help="Send no request that could exceed this many tokens, prompt and completion.")
]
MaxTime = Annotated[
    str | None, typer.Option(help="End the run after this active time: 90s, 30m, 2h; a number alone is seconds.")
]


def run(
    task: TaskName,
    budget: Budget = None,
    method: Annotated[str | None, typer.Option(help="The search method (default: funsearch+behavesim).")] = None,
    proposer: Annotated[str, typer.Option(help="auto, openai, genetic, command:CMD, folder:DIR, replay:RUN.")] = "auto",
    model: Models = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers.")] = None,
    workers: Workers = None,
    connections: Connections = None,
    window: Annotated[
        int | None, typer.Option(help="Most candidates open at once; it changes what a run finds.")
    ] = None,
    start_with: Annotated[
        str | None, typer.Option(metavar="DIR|RUN", help="Try a folder's programs first, or the ten best of a run.")
    ] = None,
    repair: Annotated[
        int | None, typer.Option(help="Further tries for a rejected candidate; the prompt says why.")
    ] = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time: MaxTime = None,
    allow_weak_isolation: AllowWeakIsolation = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE.toml", help="Settings from a file.")] = None,
    assignments: Assignments = None,
    runs_dir: RunsDir = RUNS,
    name: Annotated[str | None, typer.Option(help="The run's id (default: task and time).")] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and run nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search for a program; resumable at any moment."""
    given = {
        "budget": budget,
        "method": method,
        "proposer": proposer,
        "models": weighted_models(model),
        "seed": seed,
        "workers": workers,
        "connections": connections,
        "window": window,
        "start_with": start_with,
        "repair": repair,
        "max_cost_usd": max_cost,
        "max_tokens": max_tokens,
        "max_time_s": seconds(max_time),
        "allow_weak_isolation": allow_weak_isolation,
    }
    launch = new_launch(task, runs_dir, given, assignments, config, name)
    if proposer == "auto" and launch.settings.proposer == "genetic" and not has_endpoint():
        tell("no OPENAI_API_KEY is set, so the offline proposer writes the programs")
    tell(f"{datetime.now():%H:%M:%S} trying the template, {Limits.of(launch.settings).in_words}")
    if dry:
        from .dry_run import say_what_it_would_take  # imported late: a run does not need it

        say_what_it_would_take(launch, as_json)
        return
    _carry_out(launch, session.begin(launch, shown_search, busy), as_json)


def resume(
    run: OneRun = None,
    budget: Budget = None,
    workers: Workers = None,
    connections: Connections = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time: MaxTime = None,
    assignments: Assignments = None,
    task: Annotated[str | None, typer.Option(metavar="PATH", help="Where the run's task file is now.")] = None,
    fork: Annotated[
        str | None, typer.Option(metavar="NEW-ID", help="Go on as a new run, with what was changed.")
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Go on with a run from its last event; needs nothing but the run."""
    folder = run_folder(runs_dir, run)
    changes = {
        "task": task,
        "budget": budget,
        "workers": workers,
        "connections": connections,
        "max_cost_usd": max_cost,
        "max_tokens": max_tokens,
        "max_time_s": seconds(max_time),
    }
    if fork is None:
        launch = next_launch(folder, changes, assignments)
        _carry_out(launch, session.resume(launch, shown_search, busy), as_json)
    else:
        launch = next_launch(folder, changes, assignments, RunFolder.named(runs_dir, fork))
        _carry_out(launch, session.fork(launch, folder, shown_search, busy), as_json)


def _carry_out(launch: Launch, work: Coroutine[Any, Any, session.Ended], as_json: bool) -> None:
    run, has_begun = launch.folder.argument, launch.folder.has_begun
    shorten_pauses()
    try:
        ended = run_until_asked_to_end(work, launch.requests.abandon)
    except asyncio.CancelledError:
        if not has_begun():
            tell("interrupted before the run began; nothing is left behind")
            raise typer.Exit(INTERRUPTED) from None
        tell(f"interrupted; what has arrived is kept, go on with: behavesim resume {run}")
        _report_end(launch, as_json, session.interrupted(launch))
        raise typer.Exit(INTERRUPTED) from None
    except BehavesimError as error:
        if error.exit_code != 1 or isinstance(error, JournalError) or not has_begun():  # a journal's says what to do
            raise
        tell(str(error))
        tell(f"what has arrived is kept; go on with: behavesim resume {run}")
        raise typer.Exit(error.exit_code) from error
    _report_end(launch, as_json, ended)
    if not ended.run.state.tally.feasible:  # no reply, or no usable program
        raise typer.Exit(1)


def _report_end(launch: Launch, as_json: bool, ended: session.Ended) -> None:
    from .ended import report_end  # needed when all is done: a run's first request does not wait for it

    report_end(launch, as_json, ended)
    if loss := take_loss():
        tell(f"the result cannot be printed: {loss.strerror}; see it with: behavesim report {launch.folder.argument}")
