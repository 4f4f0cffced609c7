"""The journal: a run's events in SQLite, appended by the one process that runs it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

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
    once a second: a power cut can cost those of the last second or so, never the consistency of those before. So a
    commit is done on the event loop, in a tenth of a millisecond: to wake a thread for it would take longer.
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
        self._connection: sqlite3.Connection | None = None

    async def __aenter__(self) -> SqliteJournal:
        with translated(self._path):
            upgrade(self._path)
            self._connection = sqlite3.connect(self._path, isolation_level=None, timeout=self._patience_s)
            try:
                for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", *self._log.pragmas):
                    self._db.execute(pragma)
            except BaseException:
                self._db.close()
                raise
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with translated(self._path):
                await self._log.close()
        finally:
            self._db.close()

    async def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction: on return they survive the death of this process.

        Raises JournalError where they cannot be written, or the disk did not take what was committed before.
        """
        now = self._began + self._steady()
        passages: dict[int, str] = {}
        rows = [_row(now, event, passages) for event in events]
        with translated(self._path):
            self._insert(rows, passages)
            self._log.grew(COMMIT_BYTES + sum(_size(row) for row in rows) + sum(map(len, passages.values())))

    async def outcome(self, candidate: CandidateId, source: str) -> Evaluated | Rejected:
        """The committed outcome of a candidate's program with this text, trajectories included."""
        with translated(self._path):
            row = self._db.execute(OUTCOME, (candidate, source)).fetchone()
        assert row is not None, f"candidate {candidate} has no outcome of this program"
        event = event_of(self._path, row)
        assert isinstance(event, Evaluated | Rejected)
        return event

    def _moved(self) -> bool:
        """Move what is in the log into the database; False where it could not be all, for another's sake."""
        [(is_busy, logged, moved)] = self._db.execute(CHECKPOINT)
        return not is_busy and bool(logged == moved)

    def _insert(self, rows: list[Row], passages: dict[int, str]) -> None:
        if len(rows) == 1 and not passages:
            self._db.execute(_INSERT, rows[0])  # a statement of its own is its own transaction
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany(_INSERT_PASSAGE, passages.items())
            self._db.executemany(_INSERT, rows)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._connection is not None, "the journal is open inside `async with`"
        return self._connection


def _row(at: float, event: Event, passages: dict[int, str]) -> Row:
    kind, payload, data = encode(event, passages)
    return at, getattr(event, "candidate", None), kind, payload, data


def _size(row: Row) -> int:
    _, _, _, payload, data = row
    return len(payload) + len(data or b"")
