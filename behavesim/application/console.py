"""The display of a run that is going on, on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, cast

from rich.console import Console

from behavesim.application.outlet import Outlet
from behavesim.base.errors import BehavesimError
from behavesim.base.notices import LoggedNotices
from behavesim.base.plugins import failures_named
from behavesim.base.tokens import Spending
from behavesim.engine.build import Launch
from behavesim.engine.loop import Search
from behavesim.methods.installed import method
from behavesim.methods.method import Method
from behavesim.proposers.prices import Prices
from behavesim.reports.moment import Moment
from behavesim.reports.panels import line
from behavesim.state.state import RunState
from behavesim.task import TaskReference

if TYPE_CHECKING:
    from behavesim.analysis.run import Run

REFRESH_S = 0.25
"""Least seconds between two drawings of the live view, and between two looks for new notices."""
MAX_CPU_SHARE = 0.03
"""Largest fraction of a core's time for the live view: it is drawn more rarely if drawing takes long."""
LINE_S = 5.0
"""Seconds between two plain lines."""
RATED_S = 300.0
"""Seconds over which the rate is averaged: long enough for several slow replies."""
POLL_S = 0.5
"""Seconds between two checks whether a run of another process is still going on."""


@asynccontextmanager
async def shown(moment: Callable[[], Moment]) -> AsyncIterator[None]:
    """Show the run on stderr until the block ends: live on a terminal, as plain lines elsewhere.

    `moment` is called again and again and returns the run as it is now. Failures of the view do not stop the block.
    """
    outlet = Outlet(sys.stderr)
    console = Console(file=cast(IO[str], outlet), markup=False, emoji=False, highlight=False)
    draw = _lines(console, moment) if console.is_dumb_terminal or not console.is_terminal else _live(console, moment)
    view = asyncio.create_task(draw)
    try:
        yield
    finally:
        view.cancel()
        await asyncio.gather(view, return_exceptions=True)
        await asyncio.to_thread(outlet.close)


async def _live(console: Console, moment: Callable[[], Moment]) -> None:
    """Show the live view until cancelled; when the terminal's size changes, clear the screen and begin a new view.

    Terminals wrap lines that no longer fit in different ways, so the old view cannot be drawn over.
    """
    from rich.live import Live  # imported here to save time where there is no terminal

    from behavesim.reports.dashboard import Dashboard

    while True:
        size = console.size
        with Live(Dashboard(moment()), console=console, auto_refresh=False, transient=False) as live:
            try:
                while console.size == size:
                    began = time.thread_time()
                    live.update(Dashboard(moment()), refresh=True)
                    await asyncio.sleep(max(REFRESH_S, (time.thread_time() - began) / MAX_CPU_SHARE))
            finally:
                live.update(Dashboard(moment()), refresh=True)
        console.clear()


async def _lines(console: Console, moment: Callable[[], Moment]) -> None:
    """Print a line on the run every LINE_S seconds, and notices within REFRESH_S, until cancelled."""
    shown = looks = 0
    try:
        while True:
            await asyncio.sleep(REFRESH_S)
            looks += 1
            now = moment()
            shown = _print_notices(console, now, shown)
            if looks % round(LINE_S / REFRESH_S) == 0:
                console.print(f"{datetime.now():%H:%M:%S} {line(now)}", soft_wrap=True)
    finally:
        _print_notices(console, moment(), shown)


def _print_notices(console: Console, moment: Moment, after: int) -> int:
    """Print the notices but for the first `after`, which were printed before; return the number of all notices."""
    for notice in moment.notices[after:]:
        console.print(str(notice), soft_wrap=True)
    return len(moment.notices)


class Rate:
    """Measures registered candidates per second over about the last RATED_S seconds."""

    def __init__(self, registered: int) -> None:
        self._seen = deque([(time.monotonic(), registered)])

    def of(self, registered: int) -> float:
        """Note that `registered` candidates are registered now; return the mean candidates per second.

        The mean is over about the last RATED_S seconds, or since this object was made if that is shorter.
        """
        now = time.monotonic()
        self._seen.append((now, registered))
        while now - self._seen[1][0] > RATED_S:
            self._seen.popleft()
        since, before = self._seen[0]
        return (registered - before) / (now - since) if now > since else 0.0


def shown_search(launch: Launch, search: Search) -> AbstractAsyncContextManager[None]:
    """Return a context that shows a search of this process until its block ends."""
    return shown(moment_of_search(launch, search))


def moment_of_search(launch: Launch, search: Search) -> Callable[[], Moment]:
    """Return a function that returns the present state of a search of this process; its rate counts from now on."""
    rate = Rate(search.state.registered)

    def moment() -> Moment:
        state, caps = search.state, search.caps
        return Moment(
            run=launch.folder.run,
            settings=launch.settings,
            state=state,
            active_s=caps.active_s(),
            rate=rate.of(state.registered),
            cost_usd=caps.spending(state).cost_usd,
            facts=_facts(search.method, state),
            is_warming=search.is_warming,
            notices=tuple(launch.notices.said),
        )

    return moment


async def watch(run: Run) -> None:
    """Show a run of any process, read from its journal, until no process holds it any more.

    `run` is up to date afterwards. Raises JournalError if the journal cannot be read when the run has ended.
    """
    rate, decides, notices = Rate(run.state.registered), _method_of(run), LoggedNotices(run.folder.log)

    def moment() -> Moment:
        run.follow()
        notices.follow()
        now = replace(moment_of(run, rate.of(run.state.registered)), notices=tuple(notices.said))
        return now if decides is None else replace(now, facts=_facts(decides, run.state))

    async with shown(moment):
        while run.folder.is_running():
            await asyncio.sleep(POLL_S)
    run.follow()


def moment_of(run: Run, rate: float = 0.0) -> Moment:
    """Return what to show of a run as it was when its journal was last read; `rate` is in candidates per second."""
    cost = Spending.of(run.state.tally.tokens, Prices.named(run.settings.prices).cost).cost_usd
    return Moment(run.folder.run, run.settings, run.state, run.active_s, rate, cost)


def _facts(method: Method[Any], state: RunState) -> Mapping[str, str]:
    with failures_named(type(method), "method"):
        return method.facts(state)


def _method_of(run: Run) -> Method[Any] | None:
    """Return the run's method; None if it or the task is not on this machine. The run can be watched without it."""
    try:
        return method(run.settings, TaskReference(run.folder.with_task_at_hand(run.settings).task).load())
    except BehavesimError:
        return None
