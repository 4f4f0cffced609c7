"""Journals written in one go, for tests that only read them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from behavesim.state.events import Event
from behavesim.store.journal import SqliteJournal


def written(path: Path, events: Iterable[Event], seconds: Sequence[float] | None = None, killed: bool = False) -> Path:
    """A journal with these events, each committed at its time; of one that is killed the log is not in the database.

    The copy of a journal that is open is what a process leaves that dies.
    """
    recorded = list(events)
    times = iter([0.0, *(seconds or [1.0] * len(recorded))])
    home = path.with_name("alive.db") if killed else path

    async def write() -> None:
        async with SqliteJournal(home, wall=lambda: 0.0, steady=lambda: next(times)) as journal:
            for event in recorded:
                await journal.append([event])
            if killed:
                for suffix in ("", "-wal"):
                    shutil.copy(f"{home}{suffix}", f"{path}{suffix}")

    asyncio.run(write())
    return path
