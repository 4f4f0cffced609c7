"""The small world that searches are rehearsed in, for tests."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from behavesim.checks.method import MemoryJournal, Stop, Toy, ToyJudge, ToyProposer, fitting, pause, price, search
from behavesim.engine.loop import Search
from behavesim.state.events import Event
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.task import Split

__all__ = [
    "DiskJournal",
    "Hurdles",
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


class Hurdles(Toy):
    """A toy whose instances have no end, and on which each program has good and bad luck."""

    template = "def number() -> int:\n    return 5\n"
    endless = True

    def instance(self, split: Split, number: int) -> int:
        return number + 1

    def score(self, instance: int, solution: Any) -> float:
        number = int(solution[0])
        return 10.0 + 0.2 * (number % 7) + float(np.random.default_rng([number, instance]).normal(0, 0.3))


async def finished(settings: Mapping[str, Any], delay: random.Random | None = None) -> Search:
    """A search that has run to its end."""
    built = await search(MemoryJournal(), settings, delay)
    await built.run()
    return built
