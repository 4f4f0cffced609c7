"""Searches from a script or a notebook; they make the same folder, journal and results as the command."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from behavesim.analysis.run import Run
from behavesim.application import session
from behavesim.application.console import moment_of_search
from behavesim.application.event_loop import in_a_loop_of_its_own
from behavesim.application.launch import new_launch, next_launch
from behavesim.application.loaded import LoadedRun
from behavesim.base.errors import UsageError
from behavesim.base.plugins import Kind
from behavesim.engine.build import Launch
from behavesim.engine.loop import Search
from behavesim.methods.method import Method
from behavesim.proposers.proposer import Proposer
from behavesim.reports.panels import line
from behavesim.state.events import Event
from behavesim.state.settings import METHODS, PROPOSERS
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.task import TASKS, Task

OnEvent = Callable[[Event, RunState], None]
"""Called with each new event after its commit, and the run's state with that event; it must not change the state."""
SettingValue = str | int | float | bool | Sequence[str] | Mapping[str, object] | None
"""The value of a setting, as a settings file may hold it."""

PROGRESS_S = 1.0
"""Seconds between two updates of the line that a notebook shows below its cell."""


async def search(
    task: str | Task,
    *,
    budget: int | None = None,
    method: str | type[Method[Any]] | None = None,
    proposer: str | type[Proposer[Any]] = "auto",
    runs_dir: str | Path = "runs",
    name: str | None = None,
    on_event: OnEvent | None = None,
    **settings: SettingValue,
) -> LoadedRun:
    """Search for a program as `behavesim run` does, and return the run once it has ended.

    A task, method or proposer is a name, a file's path, or an object that a file assigns to `task`, `method` or
    `proposer`. Other processes load such an object again from its file. The proposer "auto" is "openai" if `settings`
    name models or the environment has an endpoint, else "genetic". None means the task's budget and the default method.
    The run's folder is `name` in `runs_dir`; None means the task's name and the time. `on_event` gets each new event.
    `settings` are those that `behavesim settings` lists. Cancelling keeps all that has arrived; `resume` goes on.

    Raises UsageError if a task, method, proposer or setting does not fit, the folder exists or isolation is too weak.
    Raises TaskError if the task cannot be loaded or its template fails. Raises SandboxError if the sandbox fails, and
    ProposerError if the endpoint fails in a way that retries do not solve; a run that has begun can then be resumed.
    """
    given = {
        "budget": budget,
        "method": None if method is None else _reference(METHODS, method),
        "proposer": _reference(PROPOSERS, proposer),
        **settings,
    }
    launch = new_launch(_reference(TASKS, task), Path(runs_dir), given, name=name)
    return (await session.begin(launch, _view(on_event), _quiet)).run


async def resume(run: str | Path | Run, *, on_event: OnEvent | None = None, **changes: SettingValue) -> LoadedRun:
    """Continue a run from its last event, as `behavesim resume` does, and return it once it has ended.

    `run` is a loaded run, a run's folder, or its id (or the beginning of it) in the folder `runs`. `changes` are
    settings by name, such as a larger `budget`; None leaves one as it is. Raises UsageError if there is no such run, or
    if a change would alter what the run finds. Raises TaskError if its task cannot be loaded. Raises SandboxError and
    ProposerError as `search` does.
    """
    folder = run.folder if isinstance(run, Run) else RunFolder.find(Path("runs"), str(run))
    return (await session.resume(next_launch(folder, changes), _view(on_event), _quiet)).run


def search_sync(
    task: str | Task,
    *,
    budget: int | None = None,
    method: str | type[Method[Any]] | None = None,
    proposer: str | type[Proposer[Any]] = "auto",
    runs_dir: str | Path = "runs",
    name: str | None = None,
    on_event: OnEvent | None = None,
    **settings: SettingValue,
) -> LoadedRun:
    """Call `search` without `await`, even if an event loop is already running, as in a notebook.

    The arguments are those of `search`. Ctrl-C or a notebook's stop button stops the search in order and raises
    KeyboardInterrupt; `resume_sync` goes on.
    """
    return in_a_loop_of_its_own(
        search(
            task,
            budget=budget,
            method=method,
            proposer=proposer,
            runs_dir=runs_dir,
            name=name,
            on_event=on_event,
            **settings,
        )
    )


def resume_sync(run: str | Path | Run, *, on_event: OnEvent | None = None, **changes: SettingValue) -> LoadedRun:
    """Call `resume` without `await`, even if an event loop is running; Ctrl-C acts as in `search_sync`."""
    return in_a_loop_of_its_own(resume(run, on_event=on_event, **changes))


def _reference(kind: Kind, part: object) -> str:
    """Return the text by which other processes load a task, method or proposer (`part`) again.

    A text is returned as it is. For an object it is its installed name, else the path of the file with its class, if
    that file assigns to `task`, `method` or `proposer`. Raises UsageError if it has neither.
    """
    if isinstance(part, str):
        return part
    for point in entry_points(group=kind.group):  # only loaded modules: the part is an object of one of them
        module, _, attribute = point.value.partition(":")
        if module in sys.modules and getattr(sys.modules[module], attribute, None) is part:
            return point.name
    home = sys.modules[part.__module__ if isinstance(part, type) else type(part).__module__]
    path = getattr(home, "__file__", None)
    if path is None or not hasattr(home, kind.noun):
        raise UsageError(
            f"a {kind.noun} given as an object has to stand in a file that names it `{kind.noun}`, by which the "
            f"sandbox and a resumed run load it again; {part!r} does not: write it to a file, and give its path"
        )
    return str(path)


def _view(on_event: OnEvent | None) -> session.View:
    """Return a view that calls `on_event` for each event, unless it is None, and shows a line if in a notebook."""

    @asynccontextmanager
    async def view(launch: Launch, search: Search) -> AsyncIterator[None]:
        if on_event is not None:
            first, then = search.observe, on_event

            def observe(event: Event, state: RunState) -> None:
                first(event, state)
                then(event, state)

            search.observe = observe
        drawing = asyncio.create_task(_line(launch, search)) if "ipykernel" in sys.modules else None
        try:
            yield
        finally:
            if drawing is not None:
                drawing.cancel()

    return view


async def _line(launch: Launch, search: Search) -> None:
    """Show one line on the run below a notebook's cell, updated every PROGRESS_S seconds until cancelled."""
    display = import_module("IPython.display").display
    moment = moment_of_search(launch, search)
    shown = display({"text/plain": line(moment())}, raw=True, display_id=True)
    try:
        while True:
            await asyncio.sleep(PROGRESS_S)
            shown.update({"text/plain": line(moment())}, raw=True)
    finally:
        shown.update({"text/plain": line(moment())}, raw=True)


def _quiet(text: str) -> None:
    """Drop a text for a terminal: a script or notebook has none, and the run's log holds what matters."""
