"""`behavesim run`, `resume` and `steer`, and the two halves of the last under their old names."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from behavesim.analysis.provenance import beside_original
from behavesim.analysis.run import Run
from behavesim.analysis.summary import save_summary
from behavesim.analysis.table import facts_table
from behavesim.application import session
from behavesim.application.console import show_search
from behavesim.application.launch import new_launch, next_launch
from behavesim.application.recommendation import certificate_line
from behavesim.application.session import Ended
from behavesim.application.session import advise as put_advice
from behavesim.application.session import inject as inject_programs
from behavesim.base.config import OWN, Settings
from behavesim.base.errors import INTERRUPTED, BehavesimError, JournalError, PartError, RunInUse, UsageError
from behavesim.base.text import count_noun, duration, printable
from behavesim.engine.admission import chosen_by_budget
from behavesim.engine.build import Launch
from behavesim.proposers.openai_settings import has_endpoint
from behavesim.proposers.proposer import proposer_type
from behavesim.reports.next_steps import ending
from behavesim.reports.tables import summary_table
from behavesim.reports.terminal import show
from behavesim.reports.words import program_name
from behavesim.sandbox.limits import Limits
from behavesim.state.settings import settings_from_journal
from behavesim.store.database import is_spent
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference
from behavesim.task.evaluated import EvaluatorTask

from .evaluator import (
    BestKnownOption,
    BoundOption,
    CommandOption,
    ConfigurationOption,
    EditsOption,
    EvaluatorOption,
    MetricOption,
    MinimiseOption,
    ProgramOption,
    RepoOption,
    ShowOption,
    TaskOrNone,
    open_task,
)
from .options import (
    RUNS,
    AllowWeakIsolation,
    AsJson,
    Assignments,
    Budget,
    ConfigFile,
    Models,
    NamedRun,
    OneRun,
    RunName,
    RunsDir,
    RunsWorkers,
    Workers,
    complete_methods,
    complete_proposers,
    parse_models,
    run_folder,
    seconds,
)
from .output import busy, print_json, print_result, say, take_loss, tell

if TYPE_CHECKING:
    from behavesim.application.experiment.plan import DryRun

# What `behavesim run` and `behavesim resume` print when a run ends.


def report_end(launch: Launch, as_json: bool, ended: Ended) -> None:
    """Print the result of a session that ended, and what to do next; with `as_json` the result is one JSON document.

    If stdout takes no output, stderr says how to see the result later.
    """
    said = ending(ended.run, launch.settings, ended.reason)
    if as_json:
        beside = beside_original(ended.run)
        print_json({**asdict(save_summary(ended.run)), **({} if beside is None else {"replay": asdict(beside)})})
        for line in said:
            tell(line)
    else:
        _print(ended.run, said)
    if loss := take_loss():
        tell(f"the result cannot be printed: {loss.strerror}; see it with: behavesim report {launch.folder.argument}")


def _print(run: Run, said: Sequence[str]) -> None:
    """Print the run's summary, how it differs from the run it replays, where its programs are, and the lines `said`."""
    folder, beside = run.folder, beside_original(run)
    lines = [] if beside is None else beside.lines()
    if folder.best.exists():
        which = "" if run.state.leader is None else f" ({program_name(run.state.leader.candidate)})"
        lines.append(f"best program: {folder.best}{which}")
    if run.recommended is not None and folder.recommended.exists():
        early = "" if run.state.has_recommended else f" (chosen from the first {run.state.recommended_of:,} candidates)"
        lines.append(f"recommended program: {folder.recommended}{early}")
        lines += [certificate_line(run, run.task())] if run.certificate is None else []  # else the summary has it
    show([summary_table(save_summary(run))])
    for line in filter(None, (*lines, *said)):
        say(line)


# `behavesim run --dry-run`.


def say_what_it_would_take(launch: Launch, as_json: bool) -> None:
    """Print the first prompt, and an estimate of the whole run's sandbox time and model cost; `as_json` prints JSON."""
    from behavesim.application.experiment.plan import dry_run  # imported late: a run plans no experiment

    print_result(asyncio.run(dry_run(launch)), as_json, asdict, lambda found: _show(found, launch))


def _show(found: DryRun, launch: Launch) -> None:
    """Print the first prompt, and what a run is expected to take."""
    settings, budget = launch.settings, launch.settings.budget
    typer.echo(f"the first prompt:\n\n{printable(found.prompt)}\n")
    if found.understood:
        show([facts_table("understood", "how the evaluator is understood", found.understood)])
    programs = f"all {budget:,} programs take about {duration(found.evaluating_s)} in the sandbox"
    say(f"template {found.template_score:.6g}; {programs} if each takes as long as the template")
    # the limit that comes with an installed task is chosen: with another, results differ from those of other people
    is_chosen = not Path(settings.task).suffix and settings.timeout_s == launch.task.timeout_s
    advice = Limits.of(settings).timeout_advice(found.evaluating_s * settings.workers_here / budget)
    if advice and not is_chosen:
        say(advice)
    say("comparing programs and the model's replies take time besides, often more")
    say("no model is asked, which costs nothing" if found.cost is None else found.cost.sentence)


# `behavesim steer`: what a person gives to a run.


def steer(
    run: NamedRun,
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE|SENTENCE", help="Programs (`template` is the task's own), or a sentence."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Withdraw all advice instead.")] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Put programs of your own into a run, or a sentence of advice into all its further prompts.

    The run may be going on, or be resumed later. A sentence is one argument, in quotation marks.
    """
    match given or [""]:
        case [text] if not text or (" " in text and not Path(text).exists()):
            advise(run, text, clear, runs_dir)
        case _ if clear:
            raise UsageError("--clear withdraws advice; leave the programs out")
        case texts:
            inject(run, [Path(text) for text in texts], runs_dir)


def inject(
    run: NamedRun,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Programs; `template` is the task's own."),
    ],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Put programs of your own into a run, while it goes on or before it is resumed."""
    folder = run_folder(runs_dir, run)
    settings = _settings(folder)
    inject_programs(folder, TaskReference(settings.task).load(), files)
    then = _next_command(folder, settings, "tries them in place of its next questions", len(files))
    typer.echo(f"{count_noun(len(files), 'program')} put into {folder.run}{then}")


def advise(
    run: NamedRun,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="One line, in quotation marks.")] = "",
    clear: Annotated[bool, typer.Option("--clear", help="Withdraw all advice instead.")] = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Add an instruction to all further prompts of a run for programs, while it goes on or before a resume."""
    if clear == bool(sentence):
        raise UsageError("expected a sentence in quotation marks, or --clear to withdraw all advice")
    folder = run_folder(runs_dir, run)
    settings = _settings(folder)
    put_advice(folder, sentence)
    said = "withdrawn from" if clear else "put into"
    typer.echo(f"advice {said} {folder.run}{_next_command(folder, settings, 'heeds that in its next prompts', 1)}")
    if not clear and not proposer_type(settings.proposer).costs_money:
        typer.echo(f"note: only a model reads advice, and the proposer is {settings.proposer}")


def _settings(folder: RunFolder) -> Settings:
    """Return a run's settings as of its last session, with its files where they are now."""
    # the folder has the settings of the last session, such as a raised budget; the journal has those of the first
    return settings_from_journal(folder.at_hand(folder.read_settings()))


def _next_command(folder: RunFolder, settings: Settings, does: str, more: int) -> str:
    """Return what follows: what a running run `does`, else how to resume, with `more` candidates if none is left."""
    resume = f"next: behavesim resume {folder.argument}"
    if is_spent(folder.journal, settings.budget, settings.tune > 0):
        return f", which is at the end of its budget; {resume} --budget {settings.budget + more}"
    return f", which {does}" if folder.is_running() else f"; {resume}"


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
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print the first prompt, the expected cost and how an evaluator is understood; search and write nothing.",
    ),
]


def run(
    ctx: typer.Context,
    task: TaskOrNone = None,
    evaluator: EvaluatorOption = None,
    program: ProgramOption = None,
    configuration: ConfigurationOption = None,
    edits: EditsOption = None,
    is_minimised: MinimiseOption = False,
    best_known: BestKnownOption = None,
    bound: BoundOption = None,
    metric: MetricOption = None,
    repo: RepoOption = None,
    command: CommandOption = None,
    show: ShowOption = None,
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
    dry: DryRunOption = False,
    as_json: AsJson = False,
) -> None:
    """Search for a program for a task; `behavesim resume` continues the run after any interruption.

    Exit code 1 if the run fails or finds no feasible program, 130 if it is interrupted.
    """
    session.shorten_pauses()  # before the launch, which loads the proposer's libraries
    given = {**_settings_in(ctx), "models": parse_models(model)}
    with open_task(task, ctx.params, runs_dir) as made:
        launch = new_launch(str(made.path), runs_dir, given, assignments, config, name, made.suggested, not dry)
        begin(launch, proposer, dry, as_json)


def begin(launch: Launch, proposer: str, dry: bool, as_json: bool) -> None:
    """Carry out a new run and print its end, as JSON if `as_json`; if `dry`, only print what it would take.

    `proposer` is the text of the option --proposer. Raises typer.Exit as `_carry_out` does.
    """
    if proposer == "auto" and launch.settings.proposer == "genetic" and not has_endpoint():
        tell("no OPENAI_API_KEY is set, so the offline proposer writes the programs")
    for line in _said_of_budget(launch):
        tell(line)
    first = "first program" if isinstance(launch.task, EvaluatorTask) else "template"
    tell(f"{datetime.now():%H:%M:%S} trying the {first}, {Limits.of(launch.settings).in_words}")
    if dry:
        say_what_it_would_take(launch, as_json)
        return
    _carry_out(launch, session.begin(launch, show_search, busy), as_json)


def _said_of_budget(launch: Launch) -> list[str]:
    """Return what was chosen for the budget, and how many results a prompt will know; nothing if nothing was chosen."""
    settings = launch.settings
    chosen = chosen_by_budget(settings, launch.task)
    if not chosen:
        return []
    values = ", ".join(f"{name} {value}" for name, value in chosen.items())
    lines = [f"chosen for a budget of {settings.budget:,}: {values}"]
    asks_a_model = proposer_type(settings.proposer).costs_money
    known = max(0, settings.budget - settings.window)
    before = count_noun(settings.window - 1, "candidate")
    lines.append(
        f"window {settings.window}: each prompt knows all results but those of the {before} before it, "
        f"the last one {known:,} results"
    )
    if asks_a_model and "window" in chosen and settings.window < settings.connections:
        lines.append(
            f"the window of {settings.window} is below the {settings.connections} connections: more requests at once "
            f"take --window {settings.connections}, and prompts then know fewer results"
        )
    return lines


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
    session.shorten_pauses()
    folder, new = run_folder(runs_dir, run), None if fork is None else RunFolder.named(runs_dir, fork)
    launch = next_launch(folder, _settings_in(ctx), assignments, new)
    budget = folder.read_settings()["budget"]
    before = launch.settings.model_copy(update={"budget": budget})
    if launch.settings.budget > budget and (chosen := chosen_by_budget(before, launch.task)):
        names = ", ".join(f"{name} {value}" for name, value in chosen.items())
        tell(f"the budget grows from {budget:,}; what was chosen for it stays: {names}")
    shown = (show_search, busy)
    work = session.resume(launch, *shown) if new is None else session.fork(launch, folder, *shown)
    _carry_out(launch, work, as_json)


def _settings_in(ctx: typer.Context) -> dict[str, Any]:
    """Return those parameters of the command that have the name of a setting; None for one that was not given."""
    # the parameter of a setting has the name of the setting, so a new one need not be passed on by hand
    return {name: value for name, value in ctx.params.items() if name in OWN}


def _carry_out(launch: Launch, work: Coroutine[Any, Any, session.Ended], as_json: bool) -> None:
    """Run the work of a launch to its end and print the result, or how to go on."""
    # A BehavesimError is raised again if resuming would not help: a usage or journal error, a run in use, or any before
    # the run began.
    run, has_begun = launch.folder.argument, launch.folder.has_begun
    try:
        ended = session.run_until_asked_to_end(work, launch.requests.abandon)
    except KeyboardInterrupt:
        if not has_begun():
            tell("interrupted before the run began; nothing is left behind")
            raise typer.Exit(INTERRUPTED) from None
        tell(f"interrupted; what has arrived is kept, go on with: behavesim resume {run}")
        ended = session.end_interrupted(launch)
    except BehavesimError as error:
        # the first three say what to do, and a run that has not begun cannot be resumed
        if error.exit_code != 1 or isinstance(error, JournalError | RunInUse) or not has_begun():
            raise
        tell(str(error))
        mended = " --fork NEW-ID" if isinstance(error, PartError) else ""  # resume refuses a method that has changed
        tell(f"what has arrived is kept; go on with: behavesim resume {run}{mended}")
        raise typer.Exit(error.exit_code) from error
    report_end(launch, as_json, ended)
    if ended.reason == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if not ended.run.state.tally.feasible:  # no reply, or no usable program
        raise typer.Exit(1)
