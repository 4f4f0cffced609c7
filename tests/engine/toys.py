"""The small world that searches are rehearsed in, for tests."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from behavesim.checks.method import MemoryJournal, Stop, Toy, ToyJudge, ToyProposer, fitting, pause, price, search
from behavesim.engine.loop import Search
from behavesim.state.events import Event
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events

__all__ = [
    "DiskJournal",
    "MemoryJournal",
    "Stop",
    "Toy",
    "ToyJudge",
    "ToyProposer",
    "finished",
    "fitting",
    "pause",
    "price",
    "search",
]


class DiskJournal(SqliteJournal):
    """The journal of a real run, which a rehearsal can go on from."""

    def events(self) -> Iterator[Event]:
        return (event for _, _, event in read_events(self._path))


async def finished(settings: Mapping[str, Any], delay: random.Random | None = None) -> Search:
    """A search that has run to its end."""
    built = await search(MemoryJournal(), settings, delay)
    await built.run()
    return built
