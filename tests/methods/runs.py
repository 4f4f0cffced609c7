"""A run on the toy task, event by event: what the method knew before each, and what it decided."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache
from typing import Any

from behavesim.state.events import Event
from behavesim.state.state import RunState
from behavesim.store.codec import decode
from tests.engine.toys import MemoryJournal, Toy, search

Events = tuple[Event, ...]


@cache
def events_of(**settings: Any) -> Events:
    """The events of a whole run, which is a function of its settings."""

    async def run() -> Events:
        journal = MemoryJournal()
        await (await search(journal, {"budget": 120, "window": 8, **settings})).run()
        return tuple(decode(*row) for row in journal.rows)

    return asyncio.run(run())


def steps(events: Events) -> Iterator[tuple[RunState, Event]]:
    """Each event with the state just before it."""
    state = RunState(Toy.objective)
    for event in events:
        yield state, event
        state.apply(event)


def final(events: Events) -> RunState:
    """The state after the last event."""
    state = RunState(Toy.objective)
    for event in events:
        state.apply(event)
    return state
