"""The display of a run that is going on, on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from queue import SimpleQueue
from typing import IO, Any, TextIO, cast

from rich.console import Console

from behavesim.analysis.provenance import serving
from behavesim.analysis.run import Run
from behavesim.analysis.summary import last_settings
from behavesim.base.errors import BehavesimError
from behavesim.base.notices import LoggedNotices
from behavesim.base.plugins import as_part_errors
from behavesim.base.tokens import Spending
from behavesim.engine.build import Launch
from behavesim.engine.loop import Search
from behavesim.methods.method import Method, method_of
from behavesim.proposers.prices import Prices
from behavesim.reports.live import LiveRun
from behavesim.reports.panels import line
from behavesim.state.state import RunState

# A text stream to a terminal that never blocks, though the terminal may be slow, stopped or gone.


# Largest number of characters that wait to be written: many screens. A text that would exceed it is dropped, unless
# nothing else waits.
LIMIT = 1 << 16
# Seconds that `close` waits at most for the waiting text to be written: a stopped terminal must not delay the end.
PATIENCE_S = 1.0


class NonblockingStream:
    """A text stream whose writes never wait and never fail: a thread writes the text to a file descriptor.

    A search and its display share a thread, so without this a terminal stopped by Ctrl-S would stop the search.
    """

    def __init__(self, stream: TextIO) -> None:
        """Write to the file descriptor of `stream`; raises OSError if it has none."""
        self._stream = stream
        self._descriptor = os.dup(stream.fileno())  # the thread may outlive the stream, whose number is then reused
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._size = 0  # characters that wait; both threads change it
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    @property
    def encoding(self) -> str:
        """The encoding of the stream given at the start."""
        return self._stream.encoding

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the file descriptor of the stream."""
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Queue the text for the thread, or drop all of it if it would exceed LIMIT; return its length."""
        # dropped, not waited for: the search shares this thread with its display
        with self._lock:
            if self._size + len(text) <= LIMIT or not self._size:
                self._waiting.put(text)
                self._size += len(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread writes what is queued as soon as the file takes it."""

    def close(self) -> None:
        """Let the thread end once all queued text is written, and wait for that for PATIENCE_S at most."""
        self._waiting.put(None)
        self._thread.join(PATIENCE_S)

    def _pass_on(self) -> None:
        while (text := self._waiting.get()) is not None:
            self._write(text.encode(self.encoding, "backslashreplace"))
            with self._lock:
                self._size -= len(text)
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another process has made the file non-blocking
                select.select((), (self._descriptor,), ())
            except OSError:
                return


# Least seconds between two drawings of the live view, and between two looks for new notices.
REFRESH_S = 0.25
# Largest fraction of a core's time for the live view: it is drawn more rarely if drawing takes long.
MAX_CPU_SHARE = 0.03
# Least seconds between two plain lines about a run, where stderr is not a terminal.
LINE_S = 5.0
# Seconds after which there is a plain line though nothing has changed: a log of hours stays short.
QUIET_S = 60.0
# Seconds over which the rate is averaged: long enough for several slow replies.
RATED_S = 300.0
# Seconds between two checks whether a run of another process is still going on.
POLL_S = 0.5


@asynccontextmanager
async def show(moment: Callable[[], LiveRun]) -> AsyncIterator[None]:
    """Show a run on stderr until the block ends: a live view on a terminal, plain lines elsewhere.

    `moment` returns the run as it is now; it is called for each drawing. If the view fails, the block goes on without.
    """
    stream = NonblockingStream(sys.stderr)
    console = Console(file=cast(IO[str], stream), markup=False, emoji=False, highlight=False)
    draw = _lines(console, moment) if console.is_dumb_terminal or not console.is_terminal else _live(console, moment)
    view = asyncio.create_task(draw)
    try:
        yield
    finally:
        view.cancel()
        await asyncio.gather(view, return_exceptions=True)  # a view that failed does not end the run
        await asyncio.to_thread(stream.close)  # which waits for a slow terminal


async def _live(console: Console, moment: Callable[[], LiveRun]) -> None:
    # Terminals wrap lines that no longer fit in different ways, so the old view cannot be drawn over.
    from rich.live import Live  # imported here to save time where there is no terminal

    from behavesim.reports.panels import Dashboard

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


async def _lines(console: Console, moment: Callable[[], LiveRun]) -> None:
    shown, schedule = 0, LineSchedule()
    try:
        while True:
            await asyncio.sleep(REFRESH_S)
            now = moment()
            shown = _print_notices(console, now, shown)
            if schedule.is_due(now):
                console.print(f"{datetime.now():%H:%M:%S} {line(now)}", soft_wrap=True)
    finally:
        _print_notices(console, moment(), shown)


class LineSchedule:
    """Decides when a plain line is printed: once something that matters has changed, and else every QUIET_S seconds.

    What matters are the template, the best program, and whether the comparison is being loaded.
    """

    def __init__(self) -> None:
        self._seen: tuple[object, ...] = ()
        self._looks = 0

    def is_due(self, now: LiveRun) -> bool:
        """Whether a line is printed now; to be called every REFRESH_S seconds."""
        best = now.state.best
        seen = (now.state.template is None, None if best is None else best.candidate, now.is_warming)
        self._looks += 1
        if self._looks * REFRESH_S < (QUIET_S if seen == self._seen else LINE_S):
            return False
        self._seen, self._looks = seen, 0
        return True


def _print_notices(console: Console, moment: LiveRun, after: int) -> int:
    """Print all notices except the first `after`, which were printed before; return the number of all notices."""
    for notice in moment.notices[after:]:
        console.print(str(notice), soft_wrap=True)
    return len(moment.notices)


class Rate:
    """Measures how many candidates per second a run registers; `registered` is their number at the start."""

    def __init__(self, registered: int) -> None:
        self._seen = deque([(time.monotonic(), registered)])

    def of(self, registered: int) -> float:
        """Take note that `registered` candidates are registered now; return the recent mean of new ones per second."""
        now = time.monotonic()
        self._seen.append((now, registered))
        while now - self._seen[1][0] > RATED_S:  # one reading older than that stays, as the beginning
            self._seen.popleft()
        since, before = self._seen[0]
        return (registered - before) / (now - since) if now > since else 0.0


def show_search(launch: Launch, search: Search) -> AbstractAsyncContextManager[None]:
    """Return a context that shows a search of this process on stderr until its block ends."""
    return show(moment_of_search(launch, search))


def moment_of_search(launch: Launch, search: Search) -> Callable[[], LiveRun]:
    """Return a function that returns what the live view shows now of a search of this process."""
    rate = Rate(search.state.registered)

    def moment() -> LiveRun:
        state, caps = search.state, search.caps
        of_cluster = {"cluster": launch.sights[-1]()} if launch.sights else {}
        return LiveRun(
            run=launch.folder.run,
            settings=launch.settings,
            state=state,
            active_s=caps.active_s(),
            rate=rate.of(state.registered),
            cost_usd=caps.spending(state).cost_usd,
            facts={**_facts(search.method, state), **of_cluster},
            is_warming=search.is_warming,
            notices=tuple(launch.notices.said),
        )

    return moment


async def watch(run: Run) -> None:
    """Show a run of any process, read from its journal, until no process holds it any more; it has all events then."""
    rate, notices = Rate(run.state.registered), LoggedNotices(run.folder.log)
    try:
        decides = method_of(run.settings, run.task())
    except BehavesimError:  # such as a method that is not on this machine: the run is shown without its facts
        decides = None

    def moment() -> LiveRun:
        run.follow()
        notices.follow()
        facts = {} if decides is None else _facts(decides, run.state)
        if workers := serving(notices.all):
            facts = {**facts, "cluster": workers.text}
        now = moment_of(run, rate.of(run.state.registered))
        return replace(now, notices=tuple(notices.said), facts=facts)

    async with show(moment):
        while run.folder.is_running():
            await asyncio.sleep(POLL_S)
    run.follow()  # events may have been committed between the last drawing and the end


def moment_of(run: Run, rate: float = 0.0) -> LiveRun:
    """Return what to show of a run as it was when its journal was last read; `rate` is in candidates per second."""
    settings = last_settings(run)  # a run that was gone on with may have another budget than it began with
    cost = Spending.of(run.state.tally.tokens, Prices.named(settings.prices).cost).cost_usd
    return LiveRun(run.folder.run, settings, run.state, run.active_s, rate, cost)


def _facts(method: Method[Any], state: RunState) -> Mapping[str, str]:
    with as_part_errors(type(method), "method"):
        return method.facts(state)
