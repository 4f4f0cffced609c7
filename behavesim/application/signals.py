"""What a process does where a person or the system asks it to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, NoReturn, TypeVar

import uvloop

from behavesim.errors import INTERRUPTED

T = TypeVar("T")
SHOW_CURSOR = b"\x1b[?25h"


def when_asked_to_end(act: Callable[[], object]) -> None:
    """Call `act` on SIGINT, SIGTERM and SIGHUP from now on; one that is ignored (nohup does that) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, act)


def _leave() -> NoReturn:
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), SHOW_CURSOR)  # which a live view has hidden
    os._exit(INTERRUPTED)


def run_until_asked_to_end(work: Coroutine[Any, Any, T], again: Callable[[], object] = lambda: None) -> T:
    """Run to the end of some work, or until this process is asked to end: then it is cancelled, once.

    `again` is called when it is asked once more. Asked a third time the process ends as by a kill, whatever holds it
    up: a thread of a task's own code can be waiting for ever. Raises CancelledError where the work was cancelled.
    """
    asked = count(1)

    async def cancellable() -> T:
        this = asyncio.current_task()
        assert this is not None, "a coroutine that runs is a task's"

        def end() -> None:
            match next(asked):
                case 1:
                    this.cancel()
                case 2:
                    again()
                case _:
                    _leave()

        when_asked_to_end(end)
        return await work

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(cancellable())
