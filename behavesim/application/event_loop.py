"""Runs asynchronous work from synchronous code: in a process that signals end in order, or in a notebook."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar

import uvloop

from behavesim.base.errors import INTERRUPTED

T = TypeVar("T")
SHOW_CURSOR = b"\x1b[?25h"
"""The terminal's control sequence that shows the cursor, which a live view hides."""


def run_until_asked_to_end(work: Coroutine[Any, Any, T], again: Callable[[], object] = lambda: None) -> T:
    """Run the work in a new event loop and return its result; raises what it raises.

    The first SIGINT, SIGTERM or SIGHUP cancels the work, and the second calls `again` in the event loop. The third ends
    the process at once with exit code 130: a task's own code may block a thread or the event loop for ever. If the work
    ends as cancelled, raises KeyboardInterrupt.
    """
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    loop = runner.get_loop()
    working = loop.create_task(work)
    acts = iter((working.cancel, again))  # what the first signal does, and the second

    def end() -> None:
        if (act := next(acts, None)) is None:
            _leave()
        if not loop.is_closed():  # the work may have ended just before
            loop.call_soon_threadsafe(act)

    with _when_asked_to_end(end), runner:
        try:
            return loop.run_until_complete(working)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


@contextmanager
def _when_asked_to_end(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` on each SIGINT, SIGTERM and SIGHUP during the block; signals ignored before (nohup) stay ignored."""
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in asked}
    heard = [number for number in asked if before[number] is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, lambda *_: act())
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def _leave() -> NoReturn:
    """End the process at once with exit code 130, without waiting for threads or the event loop."""
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), SHOW_CURSOR)
    os._exit(INTERRUPTED)  # sys.exit would wait for threads


def in_a_loop_of_its_own(work: Coroutine[Any, Any, T]) -> T:
    """Run the work to its end and return its result; raises what it raises.

    It runs in this thread, or in another one if this thread has a running event loop already, as in a notebook. Ctrl-C
    cancels the work; once it has ended as cancelled, KeyboardInterrupt is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # with a factory, as Runner would else replace the event loop of the calling thread, which is the notebook's
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    working = loop.create_task(work)

    def run() -> T:
        with runner:
            return loop.run_until_complete(working)

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run)
        while True:
            try:
                return running.result()
            except KeyboardInterrupt:  # Python raises it in the main thread only, which waits here
                with suppress(RuntimeError):  # the loop may just have been closed
                    loop.call_soon_threadsafe(working.cancel)
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None
