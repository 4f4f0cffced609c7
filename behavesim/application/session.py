"""A session of a run: its search, from its first candidate or its last event to an end, and the choice of a program.

Each function returns the run as it is then, and what ended the search. `tell` is told, in half a sentence, what is
begun that takes a while. Cancelled, it waits for the replies that are under way, unless `launch.requests.abandon` is
called, and stops the search in order, so that everything that has arrived is kept, before it ends as cancelled;
cancelled twice, it leaves at once, and the run can be resumed as after a kill.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from behavesim.engine.admission import refuse_changes
from behavesim.engine.build import Launch, forked_search, new_search, resumed_search
from behavesim.engine.loop import Search
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.store.inbox import Inbox
from behavesim.task import instances_of

if TYPE_CHECKING:
    from behavesim.application.loaded import LoadedRun


@dataclass(frozen=True)
class Ended:
    """What ended a search: "budget", "finished" where nothing was left of it, or the cap that was reached; and the run.

    A long run takes a moment to read: whoever goes on with it need not do so again.
    """

    reason: str
    run: LoadedRun


View = Callable[[Launch, Search], AbstractAsyncContextManager[None]]
"""Shows a search for as long as it goes on."""
Tell = Callable[[str], None]

REPLIES_S = 30.0
"""Seconds that a cancelled session waits for replies to its requests, which may be billed in any case."""
LOOK_S = 0.5
"""Seconds between two looks into the inbox."""


async def begin(launch: Launch, view: View, tell: Tell) -> Ended:
    """Make a run; raises UsageError where its folder exists, TaskError where the template fails."""
    return await _session(launch, new_search(launch), view, tell)


async def fork(launch: Launch, source: RunFolder, view: View, tell: Tell) -> Ended:
    """Make a run that continues another; raises UsageError where a changed setting forbids it."""
    return await _session(launch, forked_search(launch, source), view, tell)


async def resume(launch: Launch, view: View, tell: Tell) -> Ended:
    """Continue a run from its last event; raises UsageError where its task or a decisive setting changed."""
    if count_registered(launch.folder.journal) < launch.settings.budget:
        return await _session(launch, resumed_search(launch), view, tell)
    refuse_changes(launch.folder, launch.settings, launch.task)
    run = _read(launch)
    if run.state.recommended is None:
        await _recommend(launch, run, tell)
    return Ended("finished", run)


def interrupted(launch: Launch) -> Ended:
    """Return the run as a cancelled session left it."""
    return Ended("interrupted", _read(launch))


async def _session(launch: Launch, beginning: AbstractAsyncContextManager[Search], view: View, tell: Tell) -> Ended:
    async with beginning as search, view(launch, search):
        reason = await _ended_in_order(launch, search)
    run = _read(launch)
    await _recommend(launch, run, tell)
    return Ended(reason, run)


@asynccontextmanager
async def _taking_from(inbox: Inbox, search: Search) -> AsyncIterator[None]:
    """Inject the programs of the inbox into the search, now and as they come; remove each once it is committed."""

    async def look() -> None:
        for name, source in await asyncio.to_thread(inbox.waiting):
            if search.inject(name, source):
                inbox.remove(name)

    async def look_again() -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await look()

    await look()  # or a run of which little is left would spend that on questions
    looking = asyncio.create_task(look_again())
    try:
        yield
    finally:
        looking.cancel()
        await look()


async def _ended_in_order(launch: Launch, search: Search) -> str:
    running = asyncio.create_task(_searched(launch.folder.inbox, search))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        try:
            await _settled(launch)
            search.stop("interrupted")
            await running
        finally:  # cancelled again
            running.cancel()
            await asyncio.wait([running])
        raise


async def _searched(inbox: Inbox, search: Search) -> str:
    async with _taking_from(inbox, search):
        return await search.run()


async def _settled(launch: Launch) -> None:
    """Wait for the replies that are under way; meanwhile the search goes on, and sends no request."""
    if under_way := launch.requests.under_way:
        replies = "the reply" if under_way == 1 else f"{under_way} replies"
        launch.notices(f"waiting for {replies} under way (at most {REPLIES_S:g} s); Ctrl-C again to leave now")
        await launch.requests.settle(REPLIES_S)


def _read(launch: Launch) -> LoadedRun:
    from behavesim.application.loaded import load_run  # whose modules no request waits for

    return load_run(launch.folder.path)


async def _recommend(launch: Launch, run: LoadedRun, tell: Tell) -> None:
    if launch.settings.recommend and len(instances_of(launch.task, "validation")):
        from behavesim.application.recommendation import record_recommendation

        tell(f"trying the best programs of {launch.folder.run} on validation instances")
        await record_recommendation(run, launch.task)
