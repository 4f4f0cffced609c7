"""How a process ends on SIGINT, SIGTERM and SIGHUP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import uvloop

from behavesim.base.errors import INTERRUPTED

T = TypeVar("T")
SHOW_CURSOR = b"\x1b[?25h"


@contextmanager
def _when_asked_to_end(act: Callable[[], object]) -> Iterator[None]:
    """Call `act` on SIGINT, SIGTERM and SIGHUP; a signal that is ignored, as by nohup, stays ignored."""
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
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), SHOW_CURSOR)  # which a live view has hidden
    os._exit(INTERRUPTED)


def run_until_asked_to_end(work: Coroutine[Any, Any, T], again: Callable[[], object] = lambda: None) -> T:
    """Run some work to its end, or cancel it, once, when this process is asked to end; return its result.

    `again` is called when it is asked once more. Asked a third time the process ends as by a kill, whatever holds it
    up: a task's own code can be waiting for ever, in a thread or on the event loop, which then hears nothing. Raises
    CancelledError where the work was cancelled.
    """
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    loop = runner.get_loop()
    working = loop.create_task(work)
    acts = iter((working.cancel, again))

    def end() -> None:
        if (act := next(acts, None)) is None:
            _leave()
        if not loop.is_closed():
            loop.call_soon_threadsafe(act)

    async def worked() -> T:
        return await working

    with _when_asked_to_end(end), runner:
        return runner.run(worked())
