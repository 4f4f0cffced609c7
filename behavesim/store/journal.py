"""The journal: a run's events in SQLite, appended by the one process that runs it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import aiosqlite

from behavesim.base.finished import finished
from behavesim.state.events import CandidateId, Evaluated, Event, Rejected
from behavesim.store.codec import encode
from behavesim.store.database import translated
from behavesim.store.reading import OUTCOME, event_of
from behavesim.store.upgrade import upgrade
from behavesim.store.wal import CHECKPOINT, LIMIT_BYTES, WriteAheadLog

_INSERT = "INSERT INTO events (at, candidate, type, payload, data) VALUES (?, ?, ?, ?, ?)"
_INSERT_PASSAGE = "INSERT OR IGNORE INTO passages (number, text) VALUES (?, ?)"

COMMIT_BYTES = 16 << 10
"""What a commit writes beside its rows, at most: the pages of the tree and of the index that it changes."""
PATIENCE_S = 5.0
"""How long to wait for another process that holds the database."""

Row = tuple[float, CandidateId | None, str, str, bytes | None]
Clock = Callable[[], float]


class SqliteJournal:
    """An append-only journal in write-ahead mode; an async context manager that owns its connection.

    A committed event survives the death of the process. Commits do not wait for the disk, to which they are brought
    once a second: a power cut can cost those of the last second or so, never the consistency of those before. The
    connection works in the thread of `aiosqlite`, so that neither a lock nor a slow disk holds the event loop.
    """

    def __init__(
        self,
        path: Path,
        patience_s: float = PATIENCE_S,
        wall: Clock = time.time,
        steady: Clock = time.monotonic,
        notes: Callable[[str], None] = lambda line: None,
        log_bytes: int = LIMIT_BYTES,
    ) -> None:
        """`wall` is read once, at the start: within a session time is `steady`, whatever is done to the clock.

        `notes` is told, in a line each, what a person should do something about.
        """
        self._path = path
        self._log = WriteAheadLog(path, log_bytes, notes, self._moved)
        self._patience_s = patience_s
        self._steady = steady
        self._began = wall() - steady()
        self._connection: aiosqlite.Connection | None = None
        self._turn = asyncio.Lock()  # one transaction at a time: the log is not moved in the middle of one

    async def __aenter__(self) -> SqliteJournal:
        with translated(self._path):
            await asyncio.to_thread(upgrade, self._path)
            self._connection = await aiosqlite.connect(
                self._path, isolation_level="IMMEDIATE", timeout=self._patience_s
            )
            try:
                for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", *self._log.pragmas):
                    await self._db.execute_fetchall(pragma)
            except BaseException:
                await finished(self._db.close())
                raise
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with translated(self._path):
                await self._log.close()
        finally:
            await finished(self._db.close())

    async def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction: on return they survive the death of this process.

        A commit that has begun ends before a cancellation is raised. Raises JournalError where the events cannot be
        written, or the disk did not take what was committed before.
        """
        await finished(self._append(events))

    async def outcome(self, candidate: CandidateId, source: str) -> Evaluated | Rejected:
        """The committed outcome of a candidate's program with this text, trajectories included."""
        with translated(self._path):
            rows = list(await self._db.execute_fetchall(OUTCOME, (candidate, source)))
        assert rows, f"candidate {candidate} has no outcome of this program"
        event = event_of(self._path, rows[0])
        assert isinstance(event, Evaluated | Rejected)
        return event

    async def _append(self, events: Sequence[Event]) -> None:
        async with self._turn:
            now = self._began + self._steady()
            passages: dict[int, str] = {}
            rows = [_row(now, event, passages) for event in events]
            with translated(self._path):
                await self._insert(rows, passages)
                self._log.grew(COMMIT_BYTES + sum(_size(row) for row in rows) + sum(map(len, passages.values())))

    async def _insert(self, rows: list[Row], passages: dict[int, str]) -> None:
        try:
            if passages:
                await self._db.executemany(_INSERT_PASSAGE, passages.items())
            await self._db.executemany(_INSERT, rows)
            await self._db.commit()
        except BaseException:
            await self._db.rollback()
            raise

    async def _moved(self) -> bool:
        """Move what is in the log into the database; False where it could not be all, for another's sake."""
        async with self._turn:
            [(is_busy, logged, moved)] = await self._db.execute_fetchall(CHECKPOINT)
        return not is_busy and bool(logged == moved)

    @property
    def _db(self) -> aiosqlite.Connection:
        assert self._connection is not None, "the journal is open inside `async with`"
        return self._connection


def _row(at: float, event: Event, passages: dict[int, str]) -> Row:
    kind, payload, data = encode(event, passages)
    return at, getattr(event, "candidate", None), kind, payload, data


def _size(row: Row) -> int:
    _, _, _, payload, data = row
    return len(payload) + len(data or b"")
