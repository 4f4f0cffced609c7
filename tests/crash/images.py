"""What a dying process leaves on the disk: images of a journal's files in the middle of each commit and after it.

Nothing is written between two commits: death before a commit leaves what death after the one before left.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from behavesim.state.events import Event
from behavesim.store.codec import encode
from tests.engine.toys import DiskJournal

Moment = Literal["inside", "after"]
Death = tuple[int, Moment]
"""The number of the event, and whether its commit was under way or done."""
MOMENTS: tuple[Moment, ...] = ("inside", "after")

FEW_PAGES = 16
"""So small a write-ahead log is moved into the database every few events, and deaths in the middle of that are seen."""


@dataclass(frozen=True)
class Image:
    """The files of a journal at one instant: the database and its write-ahead log, which are all that must survive."""

    db: bytes
    wal: bytes

    @classmethod
    def of(cls, path: Path) -> Image:
        wal = path.with_name("run.db-wal")
        return cls(path.read_bytes(), wal.read_bytes() if wal.exists() else b"")

    def put(self, folder: Path) -> Path:
        """Lay the files down as the journal of a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "run.db"
        for name in ("run.db", "run.db-wal", "run.db-shm"):
            path.with_name(name).unlink(missing_ok=True)
        path.write_bytes(self.db)
        path.with_name("run.db-wal").write_bytes(self.wal)
        return path


def torn(before: bytes, after: bytes, rng: random.Random) -> bytes:
    """A file of which only the first part of what was being written has arrived."""
    size = max(len(before), len(after))
    changed = [k for k in range(0, size, 64) if before[k : k + 64] != after[k : k + 64]]
    if not changed:
        return after
    cut = rng.randrange(changed[0], min(changed[-1] + 64, size) + 1)
    return after[:cut] + before[cut:]


def inside(before: Image, after: Image, rng: random.Random) -> Image:
    """Death in the middle: of writing the log, or of moving it into the database where the commit did that as well."""
    if before.db != after.db and rng.random() < 0.5:
        return Image(torn(before.db, after.db, rng), after.wal)
    return Image(before.db, torn(before.wal, after.wal, rng))


UNFLUSHED = "PRAGMA synchronous = OFF"
"""Nobody cuts the power of a photograph, nor of what it is taken of."""


class PhotographedJournal(DiskJournal):
    """A journal that keeps what would be on the disk, had the process died inside or after each commit."""

    def __init__(self, path: Path, kept: Set[Death], rng: random.Random, looks_at_all: bool = True) -> None:
        """`kept` are the deaths whose images are kept; all are looked at, or else these."""
        super().__init__(path)
        self._looks_at_all = looks_at_all
        self.images: dict[Death, Image] = {}
        self.appended: list[tuple[str, str]] = []
        self._kept = kept
        self._rng = rng

    async def __aenter__(self) -> PhotographedJournal:
        await super().__aenter__()
        await self._db.execute_fetchall(f"PRAGMA wal_autocheckpoint = {FEW_PAGES}")
        await self._db.execute_fetchall(UNFLUSHED)
        return self

    async def append(self, events: Sequence[Event]) -> None:
        known = len(self.appended)
        made = range(known + 1, known + len(events) + 1)
        if not self._looks_at_all and not any((number, moment) in self._kept for number in made for moment in MOMENTS):
            await super().append(events)
            self.appended += (encode(event)[:2] for event in events)
            return
        before = Image.of(self._path)
        await super().append(events)
        self.appended += (encode(event)[:2] for event in events)
        after = Image.of(self._path)
        images = (inside(before, after, self._rng), after)
        for moment, image in zip(MOMENTS, images, strict=True):
            left = rows(image.put(self._path.parent / "image"))
            assert left == self.appended[: len(left)], "what is left is what was committed, from the first event on"
            assert known <= len(left) <= len(self.appended), f"an event got lost {moment} its commit"
            assert moment != "after" or len(left) == len(self.appended), "a committed event survives"
            self.images |= dict.fromkeys(self._kept & {(number, moment) for number in made}, image)


def rows(path: Path) -> list[tuple[str, str]]:
    """The type and payload of every event that SQLite finds committed in a journal."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(UNFLUSHED)
        found: list[tuple[str, str]] = db.execute("SELECT type, payload FROM events ORDER BY seq").fetchall()
        return found
