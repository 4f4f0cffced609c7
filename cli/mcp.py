"""`behavesim mcp`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from behavesim.base.errors import INTERRUPTED, RunInUse, UsageError
from behavesim.store.folder import RunFolder

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
    open_task,
)
from .options import (
    RUNS,
    AllowWeakIsolation,
    Assignments,
    Budget,
    ConfigFile,
    RunName,
    RunsDir,
    Workers,
    complete_tasks,
)
from .output import tell

if TYPE_CHECKING:
    from behavesim.engine.build import Launch

TaskOrRun = Annotated[
    str | None,
    typer.Argument(
        metavar="TASK|RUN",
        help="A task's name or file, to begin a run; or a run to go on with. None with --evaluator.",
        autocompletion=complete_tasks,
    ),
]
Port = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Serve over HTTP at this port of 127.0.0.1, for several assistants; 0: any."),
]


def mcp(
    ctx: typer.Context,
    task: TaskOrRun = None,
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
    workers: Workers = None,
    port: Port = None,
    allow_weak_isolation: AllowWeakIsolation = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    runs_dir: RunsDir = RUNS,
    name: RunName = None,
) -> None:
    """Let coding assistants write the programs of a run: serve it by the Model Context Protocol.

    They score programs, ask whom a program behaves like, and read what was tried. The protocol is on stdin and stdout,
    or on HTTP with --port. With --name, a run of that name goes on if there is one, so that an assistant can start the
    same command again and again. Needs the extra `mcp`.
    """
    settings = {"budget": budget, "workers": workers, "allow_weak_isolation": allow_weak_isolation}
    with ExitStack() as stack:
        with _stdout_diverted() if port is None else nullcontext():  # a task may print while it is loaded
            _refuse_without_package()
            known = _run_to_go_on(task, name, runs_dir)
            if known is not None:
                launch = _next_launch(known, task if name else None, settings, assignments)
            else:
                from behavesim.application.launch import new_launch  # imported late, as help needs no search

                made = stack.enter_context(open_task(task, ctx.params, runs_dir))
                given = {**settings, "proposer": "http", "method": "best-of-n"}
                launch = new_launch(str(made.path), runs_dir, given, assignments, config, name, made.suggested)
        code = _serve(launch, port, is_new=known is None)
    raise typer.Exit(code)


@contextmanager
def _stdout_diverted() -> Iterator[None]:
    """Let all that is written on stdout during the block, also by other code, appear on stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()  # what is still in its buffer must not reach the protocol
        os.dup2(kept, 1)
        os.close(kept)


def _refuse_without_package() -> None:
    try:
        import behavesim.application.serve.mcp_server  # noqa: F401
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        said = f"assistants are served with the package {package}, which is not installed"
        raise UsageError(f"{said}; pip install 'behavesim[mcp]'") from None


def _run_to_go_on(task: str | None, name: str | None, runs_dir: Path) -> RunFolder | None:
    """Return the run that `name`, or else `task`, is the id or path of; None if a new one is meant."""
    # by the whole id only: what begins like one may be a task
    text = name or task
    return RunFolder.find(runs_dir, text) if text and RunFolder.is_named(runs_dir, text) else None


def _next_launch(
    folder: RunFolder, task: str | None, settings: Mapping[str, Any], assignments: list[str] | None
) -> Launch:
    """Return the launch that goes on with a run; UsageError if it is on another task, or asks others for programs."""
    from behavesim.application.launch import next_launch
    from behavesim.state.settings import proposer_parts
    from behavesim.task import TaskReference

    # the same command begins a run and goes on with it: a budget that was raised meanwhile stays
    before = folder.read_settings()
    budget = max(settings["budget"] or 0, before["budget"])
    launch = next_launch(folder, {**settings, "budget": budget}, assignments)
    if task is not None and TaskReference(task).absolute().text != before["task"]:
        raise UsageError(f"run {folder.run} is on the task {before['task']}, not {task}; choose another --name")
    if proposer_parts(launch.settings.proposer)[0] != "http":
        begin = f"behavesim mcp {launch.settings.task} --set start_with={folder.run}"
        raise UsageError(
            f"run {folder.run} asks {launch.settings.proposer} for its programs; begin one for assistants: {begin}"
        )
    return launch


def _serve(launch: Launch, port: int | None, is_new: bool) -> int:
    """Serve a run until the assistant leaves, the command is interrupted, or the run fails; return the exit code."""
    from behavesim.application import session
    from behavesim.application.serve.mcp_server import AssistantsLaunch, serve_assistants

    session.shorten_pauses()
    served = AssistantsLaunch(launch.settings, launch.task, launch.folder, launch.brought)
    begin = session.begin if is_new else session.resume
    work = serve_assistants(served, lambda view: begin(served, view, tell), port, tell)
    code = 0
    try:
        session.run_until_asked_to_end(work, served.requests.abandon)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except RunInUse as error:
        raise RunInUse(f"{error}; for several assistants serve it with --port") from None
    if launch.folder.has_begun():
        tell(f"what has arrived is kept; go on with: behavesim mcp {launch.folder.argument}")
    return code
