"""The journal: a run's events in SQLite, appended by one process and readable by any."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType

import aiosqlite

from behavesim.errors import JournalError
from behavesim.events import Evaluated, Event, Rejected, Ticket
from behavesim.store.codec import decode, encode, unpack
from behavesim.store.schema import TABLES, VERSION, VIEWS
from behavesim.trajectory import Trajectory

_INSERT = "INSERT INTO events (at, candidate, type, payload, data) VALUES (?, ?, ?, ?, ?)"
_READ = "SELECT seq, at, type, payload, data FROM events WHERE seq > ? ORDER BY seq"
_OUTCOME = "SELECT seq, type, payload, data FROM events WHERE candidate = ? AND type IN ('Evaluated', 'Rejected')"

Row = tuple[float, Ticket | None, str, str, bytes | None]


class SqliteJournal:
    """An append-only journal in write-ahead mode; an async context manager that owns its connection.

    A committed event survives the death of the process. `synchronous = NORMAL` spares a disk flush per commit: a power
    cut can cost the last commits, never the consistency of those before.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: aiosqlite.Connection | None = None

    async def __aenter__(self) -> SqliteJournal:
        with _translated(self._path):
            self._connection = await aiosqlite.connect(self._path, isolation_level=None)
            try:
                await self._db.execute("PRAGMA journal_mode = WAL")
                await self._db.execute("PRAGMA synchronous = NORMAL")
                await self._prepare()
            except BaseException:
                await self._db.close()
                raise
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._db.close()

    async def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction: on return they survive the death of this process."""
        now = time.time()
        rows = [_row(now, event) for event in events]
        with _translated(self._path):
            if len(rows) == 1:
                await self._db.execute(_INSERT, rows[0])  # a statement of its own is its own transaction
                return
            await self._db.execute("BEGIN IMMEDIATE")
            try:
                await self._db.executemany(_INSERT, rows)
            except BaseException:
                await self._db.execute("ROLLBACK")
                raise
            await self._db.execute("COMMIT")

    async def read(self) -> AsyncIterator[tuple[float, Event]]:
        """All committed events in order, each with the time of its commit in seconds since 1970."""
        with _translated(self._path):
            async with self._db.execute(_READ, (0,)) as cursor:
                async for seq, at, kind, payload, data in cursor:
                    yield at, _decoded(seq, kind, payload, data)

    async def outcome(self, candidate: Ticket) -> Evaluated | Rejected:
        """What became of a candidate whose outcome is committed, trajectories included."""
        with _translated(self._path):
            async with self._db.execute(_OUTCOME, (candidate,)) as cursor:
                row = await cursor.fetchone()
        assert row is not None, f"something has become of candidate {candidate}"
        event = _decoded(*row)
        assert isinstance(event, Evaluated | Rejected)
        return event

    async def _prepare(self) -> None:
        async with self._db.execute("PRAGMA user_version") as cursor:
            (version,) = (await cursor.fetchone()) or (0,)
        if version == 0:
            await self._db.executescript(f"BEGIN; {TABLES} {VIEWS} PRAGMA user_version = {VERSION}; COMMIT;")
        elif version != VERSION:
            raise JournalError(_version_message(self._path, version))

    @property
    def _db(self) -> aiosqlite.Connection:
        assert self._connection is not None, "the journal is open inside `async with`"
        return self._connection


def read_events(path: Path, after: int = 0) -> Iterator[tuple[int, float, Event]]:
    """The events of a journal for a reader that is not the run itself: sequence number, time, event."""
    with _translated(path), closing(open_to_read(path)) as connection:
        for seq, at, kind, payload, data in connection.execute(_READ, (after,)):
            yield seq, at, _decoded(seq, kind, payload, data)


def read_trajectories(path: Path, candidates: Sequence[Ticket]) -> list[tuple[Trajectory, ...]]:
    """The trajectories of some feasible candidates, in the order asked for."""
    query = "SELECT data FROM events WHERE candidate = ? AND type = 'Evaluated'"
    with _translated(path), closing(open_to_read(path)) as connection:
        return [unpack(connection.execute(query, (candidate,)).fetchone()[0]) for candidate in candidates]


def open_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection to a journal of this version; raises JournalError where there is none."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")
    with _translated(path):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise JournalError(_version_message(path, version))
    return connection


def _version_message(path: Path, version: int) -> str:
    if version > VERSION:
        return (
            f"{path} was written by a newer behavesim (schema {version}, this one reads {VERSION}); upgrade behavesim"
        )
    return f"{path} holds no journal of a run (schema {version}, expected {VERSION})"


def _row(at: float, event: Event) -> Row:
    kind, payload, data = encode(event)
    return at, getattr(event, "candidate", None), kind, payload, data


def _decoded(seq: int, kind: str, payload: str, data: bytes | None) -> Event:
    try:
        return decode(kind, payload, data)
    except ValueError as error:
        raise JournalError(f"event {seq} of the journal cannot be read: {error}") from error


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into JournalError with what to do next."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise JournalError(f"{path}: {error}{_advice(error)}") from error


def _advice(error: sqlite3.DatabaseError) -> str:
    text = str(error)
    if "full" in text:
        return "; make room on the disk, then resume the run"
    if "locked" in text:
        return "; another process holds the database, close it, then resume the run"
    if "readonly" in text or "unable to open" in text:
        return "; check that the folder is yours to write"
    if "malformed" in text or "not a database" in text:
        return "; the file is damaged, `behavesim verify` says where"
    return ""
