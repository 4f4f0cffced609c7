"""A search from Python: the same folder, journal and results as the command, in a script or a notebook."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from behavesim.analysis.run import Run
from behavesim.application import session
from behavesim.application.console import moment_of_search
from behavesim.application.launch import new_launch, next_launch
from behavesim.application.loaded import LoadedRun
from behavesim.base.errors import UsageError
from behavesim.base.plugins import Kind
from behavesim.engine.build import Launch
from behavesim.engine.loop import Search, Show
from behavesim.methods.installed import METHODS
from behavesim.methods.method import Method
from behavesim.proposers.installed import PROPOSERS
from behavesim.proposers.proposer import Proposer
from behavesim.reports.panels import line
from behavesim.state.events import Event
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.task import TASKS, Task

OnEvent = Callable[[Event, RunState], None]
"""Told of every event once it is committed and the state has it; it must not change the state."""
T = TypeVar("T")

PROGRESS_S = 1.0
"""How often a notebook's line is written anew."""


async def search(
    task: str | Task,
    *,
    budget: int | None = None,
    method: str | type[Method[Any]] | None = None,
    proposer: str | type[Proposer[Any]] = "auto",
    runs_dir: str | Path = "runs",
    name: str | None = None,
    on_event: OnEvent | None = None,
    **settings: Any,
) -> LoadedRun:
    """Search for a program as `behavesim run` does, and return the run once it has ended.

    A task, method or proposer is a name, the path of a file, or the object that such a file names; an object has to
    stand in a file, since the sandbox and a resumed run load it again. `settings` are those of `behavesim settings`.
    Cancelling stops the search in order: everything that has arrived is kept, and `resume` goes on.

    Raises UsageError where a part or a setting does not fit, ProposerError where the model's side fails for good; the
    run can then be resumed.
    """
    given = {
        "budget": budget,
        "method": None if method is None else _reference(METHODS, method),
        "proposer": _reference(PROPOSERS, proposer),
        **settings,
    }
    launch = new_launch(_reference(TASKS, task), Path(runs_dir), given, name=name)
    return (await session.begin(launch, _view(on_event), _quiet)).run


async def resume(run: str | Path | Run, *, on_event: OnEvent | None = None, **changes: Any) -> LoadedRun:
    """Go on with a run from its last event, as `behavesim resume` does; `changes` are settings that may change.

    Raises UsageError where there is no such run, or where its task, its method or a setting that matters changed.
    """
    folder = run.folder if isinstance(run, Run) else RunFolder.find(Path("runs"), str(run))
    return (await session.resume(next_launch(folder, changes), _view(on_event), _quiet)).run


def search_sync(task: str | Task, **arguments: Any) -> LoadedRun:
    """Call `search` without `await`, also where a loop is running already, as in a notebook.

    Ctrl-C, and a notebook's stop button, stop the search in order and raise KeyboardInterrupt; `resume_sync` goes on.
    """
    return _in_a_loop_of_its_own(search(task, **arguments))


def resume_sync(run: str | Path | Run, **arguments: Any) -> LoadedRun:
    """Call `resume` without `await`, as `search_sync` does for `search`."""
    return _in_a_loop_of_its_own(resume(run, **arguments))


def _in_a_loop_of_its_own(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return _in_a_thread(thread, work)


def _in_a_thread(thread: Executor, work: Coroutine[Any, Any, T]) -> T:
    """Run the work in a thread and return its result; Ctrl-C cancels the work there, and then ends the call.

    Python raises KeyboardInterrupt in the main thread alone, which only waits here. A second one cancels again.
    """
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    working = loop.create_task(work)

    async def worked() -> T:
        return await working

    def run() -> T:
        with runner:
            return runner.run(worked())

    running = thread.submit(run)
    while True:
        try:
            return running.result()
        except KeyboardInterrupt:
            with suppress(RuntimeError):  # the loop may just have been closed
                loop.call_soon_threadsafe(working.cancel)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


def _reference(kind: Kind, part: object) -> str:
    """The name or the path by which a part is found again; raises UsageError for one that stands in no file."""
    if isinstance(part, str):
        return part
    for point in entry_points(group=kind.group):
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
    """Shows a search to whoever asked for its events, and as a line in a notebook."""

    @asynccontextmanager
    async def view(launch: Launch, search: Search) -> AsyncIterator[None]:
        if on_event is not None:
            search.show = _both(search.show, on_event)
        drawing = asyncio.create_task(_line(launch, search)) if "ipykernel" in sys.modules else None
        try:
            yield
        finally:
            if drawing is not None:
                drawing.cancel()

    return view


def _both(first: Show, second: Show) -> Show:
    def show(event: Event, state: RunState) -> None:
        first(event, state)
        second(event, state)

    return show


async def _line(launch: Launch, search: Search) -> None:
    """One line below a notebook's cell, written anew as the run goes on."""
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
    """Nobody reads a terminal here; what matters is in the run's log."""
