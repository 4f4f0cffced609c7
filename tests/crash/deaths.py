"""A run that dies inside and after the commit of its every event, and goes on from what that left."""

from __future__ import annotations

import random
from collections.abc import Set
from dataclasses import dataclass, replace
from pathlib import Path

from behavesim.engine.loop import Search
from behavesim.state.events import DECISIONS, Advised, Evaluated, Event, Rejected, Responded
from behavesim.store.reading import read_events
from tests.crash.images import MOMENTS, Death, Image, PhotographedJournal
from tests.engine.toys import DiskJournal, Hurdles, search

SMALL = {"budget": 45, "window": 8, "islands": 4, "restart_every": 15}
ADVICE = (Advised("a.txt", "Choose 7.", 9), Advised("b.txt", "", 21), Advised("c.txt", "Choose 8.", 30))
METHODS = (
    "funsearch",
    "funsearch+behavesim",
    "eoh",
    "eoh+behavesim",
    "niche",
    "best-of-n",
    "hill-climbing",
    "reevo",
    "mcts-ahd",
    "map-elites",
    "set-search",
    "eoh-s",
)
RACING = ("funsearch, race", "eoh+behavesim, race")
"""Methods whose candidates race over further instances."""
FIRST = 3
"""The first event of a run that has its settings and its template; before that it has not begun."""


@dataclass(frozen=True)
class Story:
    """All of a run that does not depend on what came first: its decisions in order, its replies and its outcomes."""

    digest: str
    decisions: tuple[Event, ...]
    arrivals: tuple[Event, ...]

    @classmethod
    def of(cls, path: Path, digest: str) -> Story:
        events = [event for _, _, event in read_events(path)]
        decisions = tuple(event for event in events if isinstance(event, DECISIONS))
        arrivals = [_lasting(event) for event in events if isinstance(event, Responded | Evaluated | Rejected)]
        return cls(digest, decisions, tuple(sorted(arrivals, key=lambda e: (e.candidate, type(e).__name__))))


def _lasting(event: Responded | Evaluated | Rejected) -> Responded | Evaluated | Rejected:
    """Which of two equal programs was evaluated, and which is its copy, depends on which reply came first."""
    return event if isinstance(event, Responded) else replace(event, copy_of=None)


async def uninterrupted(
    method: str, folder: Path, kept: Set[Death], seed: int, looks_at_all: bool = True
) -> tuple[Story, dict[Death, Image], int]:
    """The run from end to end, the images kept of its deaths, and how many events it has.

    Whether an image holds what was committed is looked at for all its deaths, or else for those that are kept.
    """
    folder.mkdir()
    rng = random.Random(seed)
    async with PhotographedJournal(folder / "run.db", kept, rng, looks_at_all) as journal:
        run = await _advised(await _begun(journal, method, rng))
        await run.run()
    return Story.of(folder / "run.db", run.state.digest()), journal.images, len(journal.appended)


async def _begun(journal: DiskJournal, named: str, rng: random.Random) -> Search:
    method, _, race = named.partition(", ")
    if not race:
        return await search(journal, {**SMALL, "method": method}, rng)  # type: ignore[arg-type]
    return await search(journal, {**SMALL, "method": method, "race": 14}, rng, task=Hurdles())  # type: ignore[arg-type]


async def _advised(run: Search) -> Search:
    """Give a run its advice, one event after the other, as far as it has not got it."""
    for event in ADVICE:
        if event.name not in run.state.brought_names:
            await run.record(event)
    return run


async def gone_on(method: str, image: Image, folder: Path, seed: int) -> Story:
    """The run as it ends when it goes on from an image."""
    path = image.put(folder)
    async with DiskJournal(path) as journal:
        run = await _advised(await _begun(journal, method, random.Random(seed)))
        await run.run()
    return Story.of(path, run.state.digest())


def every_death(events: int = 1000, stride: int = 1, first: int = 0) -> set[Death]:
    """Every `stride`-th of the deaths at each event and moment, all of them for a stride of 1."""
    all_of_them = [(event, moment) for event in range(FIRST, events) for moment in MOMENTS]
    return set(all_of_them[first::stride])
