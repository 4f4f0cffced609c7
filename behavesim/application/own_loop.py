"""Run asynchronous work from synchronous code, even where an event loop is running already, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def in_a_loop_of_its_own(work: Coroutine[Any, Any, T]) -> T:
    """Run the work and return its result: in this thread, or in another if an event loop is running in this one.

    Each Ctrl-C cancels the work. Once it has ended as cancelled, raises KeyboardInterrupt.
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
