"""Awaiting work that must run to its end even if the caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`; a cancellation of the caller is raised only after `work` has ended.

    If `work` itself fails, its error is raised. If the caller was cancelled too, CancelledError is raised from it: a
    caller that handles the error, and goes on, must not lose the cancellation.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError as cancelled:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise cancelled from (None if task.cancelled() else task.exception())
