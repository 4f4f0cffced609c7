"""`behavesim run` and `behavesim resume`."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from behavesim.application import session
from behavesim.application.console import shown_search
from behavesim.application.launch import new_launch, next_launch
from behavesim.base.config import OWN
from behavesim.base.errors import INTERRUPTED, BehavesimError, JournalError, PartError, RunInUse
from behavesim.engine.build import Launch
from behavesim.proposers.openai_settings import has_endpoint
from behavesim.sandbox.limits import Limits
from behavesim.store.folder import RunFolder
from behavesim.task.evaluated import EvaluatorTask

from .evaluator import (
    ConfigurationOption,
    EditsOption,
    EvaluatorOption,
    MinimiseOption,
    ProgramOption,
    TaskOrNone,
    named_task,
)
from .options import (
    RUNS,
    AllowWeakIsolation,
    AsJson,
    Assignments,
    Budget,
    Models,
    OneRun,
    RunName,
    RunsDir,
    RunsWorkers,
    Workers,
    complete_methods,
    complete_proposers,
    run_folder,
    seconds,
    weighted_models,
)
from .output import busy, tell

Connections = Annotated[int | None, typer.Option(help="Largest number of requests to the model at once.")]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", help="Send no request with which the run could cost more.")
]
MaxTokens = Annotated[
    int | None, typer.Option(help="Send no request that could exceed this many tokens, prompt and completion.")
]
MaxTime = Annotated[
    float | None,
    typer.Option(
        "--max-time",
        metavar="TIME",
        parser=seconds,
        help="End the run after this active time: 90s, 30m, 2h; a number alone is seconds.",
    ),
]
MethodName = Annotated[
    str | None,
    typer.Option(help="Name, or PATH.py (default: funsearch+behavesim).", autocompletion=complete_methods),
]
ProposerName = Annotated[
    str,
    typer.Option(
        help="What writes programs: openai, genetic (no model), command:CMD, folder:DIR, http:PORT, replay:RUN, or "
        "PATH.py; auto is openai if a model or an endpoint is named, else genetic.",
        autocompletion=complete_proposers,
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of all random numbers.")]
Window = Annotated[
    int | None, typer.Option(help="Largest number of candidates under way; it changes what a run finds.")
]
StartWith = Annotated[
    str | None, typer.Option(metavar="DIR|RUN", help="Try a folder's programs first, or the ten best of a run.")
]
NewBudget = Annotated[int | None, typer.Option(help="Programs to generate in the whole run, rejected ones too.")]
Repair = Annotated[int | None, typer.Option(help="Times to ask for a rejected candidate again, with the reason.")]
ConfigFile = Annotated[
    Path | None, typer.Option(metavar="FILE.toml", help="Settings from a file; options and --set override them.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the first prompt and the expected cost, and search nothing.")
]


def run(
    ctx: typer.Context,
    task: TaskOrNone = None,
    evaluator: EvaluatorOption = None,
    program: ProgramOption = None,
    evaluator_config: ConfigurationOption = None,
    edits: EditsOption = None,
    minimise: MinimiseOption = False,
    budget: Budget = None,
    method: MethodName = None,
    proposer: ProposerName = "auto",
    model: Models = None,
    seed: Seed = None,
    workers: Workers = None,
    connections: Connections = None,
    window: Window = None,
    start_with: StartWith = None,
    repair: Repair = None,
    max_cost_usd: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time_s: MaxTime = None,
    allow_weak_isolation: AllowWeakIsolation = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    runs_dir: RunsDir = RUNS,
    name: RunName = None,
    dry: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Search for a program for a task; `behavesim resume` continues the run after any interruption.

    Exit code 1 if the run fails or finds no feasible program, 130 if it is interrupted.
    """
    given = {**_settings_in(ctx), "models": weighted_models(model)}
    with named_task(task, ctx.params, runs_dir) as made:
        launch = new_launch(str(made.path), runs_dir, given, assignments, config, name, made.suggested, not dry)
        begin(launch, proposer, dry, as_json)


def begin(launch: Launch, proposer: str, dry: bool, as_json: bool) -> None:
    """Carry out a new run and print its end, as JSON if `as_json`; if `dry`, only print what it would take.

    `proposer` is the text of the option --proposer. Raises typer.Exit as `_carry_out` does.
    """
    if proposer == "auto" and launch.settings.proposer == "genetic" and not has_endpoint():
        tell("no OPENAI_API_KEY is set, so the offline proposer writes the programs")
    first = "first program" if isinstance(launch.task, EvaluatorTask) else "template"
    tell(f"{datetime.now():%H:%M:%S} trying the {first}, {Limits.of(launch.settings).in_words}")
    if dry:
        from .dry_run import say_what_it_would_take  # imported late: a run does not need it

        say_what_it_would_take(launch, as_json)
        return
    _carry_out(launch, session.begin(launch, shown_search, busy), as_json)


def resume(
    ctx: typer.Context,
    run: OneRun = None,
    budget: NewBudget = None,
    workers: RunsWorkers = None,
    connections: Connections = None,
    max_cost_usd: MaxCost = None,
    max_tokens: MaxTokens = None,
    max_time_s: MaxTime = None,
    assignments: Assignments = None,
    task: Annotated[str | None, typer.Option(metavar="PATH", help="Where the run's task file is now.")] = None,
    fork: Annotated[
        str | None,
        typer.Option(metavar="NEW-ID", help="Go on as a new run with this id; only it has the changed settings."),
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Go on with a run, by default the newest, from its last event; options change its settings.

    Exit code 1 if the run fails or finds no feasible program, 130 if it is interrupted.
    """
    folder, new = run_folder(runs_dir, run), None if fork is None else RunFolder.named(runs_dir, fork)
    launch = next_launch(folder, _settings_in(ctx), assignments, new)
    if new is None:
        work = session.resume(launch, shown_search, busy)
    else:
        work = session.fork(launch, folder, shown_search, busy)
    _carry_out(launch, work, as_json)


def _settings_in(ctx: typer.Context) -> dict[str, Any]:
    """Return those parameters of the command that have the name of a setting; None for one that was not given."""
    # the parameter of a setting has the name of the setting, so a new one need not be passed on by hand
    return {name: value for name, value in ctx.params.items() if name in OWN}


def _carry_out(launch: Launch, work: Coroutine[Any, Any, session.Ended], as_json: bool) -> None:
    """Run the work of a launch to its end and print the result, or how to go on.

    Raises typer.Exit with code 130 if it was interrupted, 1 if it failed or no program was feasible. A BehavesimError
    is raised again if resuming would not help: a usage or journal error, a run in use, or any before the run began.
    """
    run, has_begun = launch.folder.argument, launch.folder.has_begun
    try:
        ended = session.carried_out(launch, work)
    except KeyboardInterrupt:
        if not has_begun():
            tell("interrupted before the run began; nothing is left behind")
            raise typer.Exit(INTERRUPTED) from None
        tell(f"interrupted; what has arrived is kept, go on with: behavesim resume {run}")
        ended = session.interrupted(launch)
    except BehavesimError as error:
        # the first three say what to do, and a run that has not begun cannot be resumed
        if error.exit_code != 1 or isinstance(error, JournalError | RunInUse) or not has_begun():
            raise
        tell(str(error))
        mended = " --fork NEW-ID" if isinstance(error, PartError) else ""  # resume refuses a method that has changed
        tell(f"what has arrived is kept; go on with: behavesim resume {run}{mended}")
        raise typer.Exit(error.exit_code) from error
    from .ended import report_end  # imported late: a run's first request does not wait for it

    report_end(launch, as_json, ended)
    if ended.reason == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if not ended.run.state.tally.feasible:  # no reply, or no usable program
        raise typer.Exit(1)
