"""The journal: a run's events in SQLite, appended by one process and readable by any."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import TracebackType

import aiosqlite

from behavesim.errors import JournalError
from behavesim.events import CandidateId, Evaluated, Event, Rejected, Reply, Responded
from behavesim.store.codec import NAMES, check_time, decode, encode, unpack
from behavesim.store.schema import VERSION, holds_events
from behavesim.store.upgrade import refuse_foreign, upgrade, version_of
from behavesim.store.wal import CHECKPOINT, LIMIT_BYTES, WriteAheadLog
from behavesim.text import one_line
from behavesim.trajectory import Trajectory

_INSERT = "INSERT INTO events (at, candidate, type, payload, data) VALUES (?, ?, ?, ?, ?)"
_READ = "SELECT seq, at, type, payload, data FROM events WHERE seq > ? ORDER BY seq"
_OUTCOME = """
SELECT seq, type, payload, data FROM events
WHERE candidate = ? AND type IN ('Evaluated', 'Rejected') AND payload ->> 'program_hash' = ?
"""

COMMIT_BYTES = 16 << 10
"""What a commit writes beside its rows, at most: the pages of the tree and of the index that it changes."""
PATIENCE_S = 5.0
"""How long to wait for another process that holds the database."""

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What SQLite raises for a damaged file; its own words may then be no UTF-8."""

Row = tuple[float, CandidateId | None, str, str, bytes | None]
Clock = Callable[[], float]


class SqliteJournal:
    """An append-only journal in write-ahead mode; an async context manager that owns its connection.

    A committed event survives the death of the process. Commits do not wait for the disk, to which they are brought
    once a second: a power cut can cost those of the last second or so, never the consistency of those before.
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

    async def __aenter__(self) -> SqliteJournal:
        with translated(self._path):
            upgrade(self._path)
            self._connection = await aiosqlite.connect(self._path, isolation_level=None, timeout=self._patience_s)
            try:
                await self._db.execute("PRAGMA journal_mode = WAL")
                await self._db.execute("PRAGMA synchronous = NORMAL")
                for pragma in self._log.pragmas:
                    await self._db.execute(pragma)
            except BaseException:
                await self._db.close()
                raise
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with translated(self._path):
                await self._log.close()
        finally:
            await self._db.close()

    async def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction: on return they survive the death of this process.

        A commit that has begun ends before whoever waits for it is cancelled.
        Raises JournalError where they cannot be written, or the disk did not take what was committed before.
        """
        now = self._began + self._steady()
        committing = asyncio.create_task(self._commit([_row(now, event) for event in events]))
        try:
            await asyncio.shield(committing)
        except asyncio.CancelledError:
            await committing
            raise

    async def outcome(self, candidate: CandidateId, program_hash: str) -> Evaluated | Rejected:
        """What became of a candidate's program of that hash, trajectories included; it is committed."""
        with translated(self._path):
            async with self._db.execute(_OUTCOME, (candidate, program_hash)) as cursor:
                row = await cursor.fetchone()
        assert row is not None, f"something has become of program {program_hash} of candidate {candidate}"
        event = _event(self._path, *row)
        assert isinstance(event, Evaluated | Rejected)
        return event

    async def _moved(self) -> bool:
        """Move what is in the log into the database; False where it could not be all, for another's sake."""
        try:
            # in one go: as long as the statement has not ended, SQLite commits nothing that is written beside it
            [(is_busy, logged, moved)] = await self._db.execute_fetchall(CHECKPOINT)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_LOCKED:
                raise
            return False  # this very connection is in the middle of reading
        return not is_busy and bool(logged == moved)

    async def _commit(self, rows: list[Row]) -> None:
        with translated(self._path):
            await self._insert(rows)
            self._log.grew(COMMIT_BYTES + sum(_size(row) for row in rows))

    async def _insert(self, rows: list[Row]) -> None:
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

    @property
    def _db(self) -> aiosqlite.Connection:
        assert self._connection is not None, "the journal is open inside `async with`"
        return self._connection


def read_events(
    path: Path, after: int = 0, only: Sequence[type] = ()
) -> Generator[tuple[int, float, Event], None, None]:
    """The events of a journal for a reader that is not the run itself: sequence number, time, event.

    `after` is the last number that is known already; `only` some types, where not all are wanted.
    """
    query = _READ
    if only:
        query = _READ.replace("WHERE", f"WHERE type IN ({', '.join(repr(NAMES[kind]) for kind in only)}) AND")
    with translated(path), closing(open_to_read(path)) as connection:
        for expected, (seq, at, kind, payload, data) in enumerate(connection.execute(query, (after,)), after + 1):
            if not only:
                _refuse_gap(path, expected, seq)
            yield seq, *_timed(path, seq, at, kind, payload, data)


def read_times(path: Path) -> list[tuple[float, str]]:
    """The time and the type of every event, in order."""
    with translated(path), closing(open_to_read(path)) as connection:
        rows = connection.execute("SELECT seq, at, type FROM events ORDER BY seq")
        return [(_time(path, seq, at), str(kind)) for seq, at, kind in rows]


def count_registered(path: Path) -> int:
    """How many candidates are registered."""
    with translated(path), closing(open_to_read(path)) as connection:
        query = "SELECT count(*) FROM events WHERE type IN ('Added', 'NotAdded')"
        return int(connection.execute(query).fetchone()[0])


def first_time(path: Path) -> float | None:
    """The time of the first event; None where there is none."""
    with translated(path), closing(open_to_read(path)) as connection:
        row = connection.execute("SELECT seq, at FROM events ORDER BY seq LIMIT 1").fetchone()
    return None if row is None else _time(path, *row)


def last_event(path: Path) -> int:
    """The number of the last event; 0 where there is none."""
    with translated(path), closing(open_to_read(path)) as connection:
        return int(connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])


def read_outcome(path: Path, candidate: CandidateId, program_hash: str) -> Evaluated | Rejected:
    """What became of a candidate's program of that hash; raises JournalError where nothing did."""
    with translated(path), closing(open_to_read(path)) as connection:
        row = connection.execute(_OUTCOME, (candidate, program_hash)).fetchone()
    if row is None:
        raise JournalError(f"{path}: nothing became of a program of candidate {candidate} with hash {program_hash}")
    event = _event(path, *row)
    assert isinstance(event, Evaluated | Rejected)
    return event


def read_reply(path: Path, candidate: CandidateId) -> Reply | None:
    """The last reply that a candidate had; None where it had none."""
    query = "SELECT seq, type, payload, data FROM events WHERE candidate = ? AND type = 'Responded' ORDER BY seq DESC"
    with translated(path), closing(open_to_read(path)) as connection:
        row = connection.execute(query, (candidate,)).fetchone()
    event = None if row is None else _event(path, *row)
    return event.reply if isinstance(event, Responded) else None


def read_trajectories(path: Path, candidates: Sequence[CandidateId]) -> list[tuple[Trajectory, ...]]:
    """The trajectories of some feasible candidates, in the order asked for."""
    query = "SELECT data FROM events WHERE candidate = ? AND type = 'Evaluated'"
    with translated(path), closing(open_to_read(path)) as connection:
        try:
            return [unpack(*connection.execute(query, (candidate,)).fetchone() or (None,)) for candidate in candidates]
        except ValueError as error:
            raise JournalError(f"{path}: a program's behaviour cannot be read: {error}") from error


def open_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection to a journal, which is brought to this version first where it is older.

    Raises JournalError where there is none, or it is newer, or something else.
    """
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")
    with translated(path), ExitStack() as stack:
        connection = stack.enter_context(closing(connected(path)))
        version = version_of(connection)
        if version != VERSION:
            refuse_foreign(path, version, VERSION)
            if version == 0:
                raise JournalError(f"{path} holds no journal of a run; it ended before it began, or is something else")
            connection.close()
            upgrade(path)
            connection = stack.enter_context(closing(connected(path)))
        if not holds_events(connection):
            raise JournalError(f"{path} is a database, but its table of events is not that of a run")
        stack.pop_all()
        return connection


def connected(path: Path) -> sqlite3.Connection:
    """SQLite reads a journal only beside files of its own, unless told that nobody writes to it."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        uri += "&immutable=1"
    return sqlite3.connect(uri, uri=True)


def _row(at: float, event: Event) -> Row:
    kind, payload, data = encode(event)
    return at, getattr(event, "candidate", None), kind, payload, data


def _size(row: Row) -> int:
    _, _, _, payload, data = row
    return len(payload) + len(data or b"")


def _refuse_gap(path: Path, expected: int, seq: int) -> None:
    if seq != expected:
        missing = f"{path}: events {expected} to {seq - 1} are missing"
        raise JournalError(f"{missing}; the file is damaged, `behavesim verify` says where")


def _timed(path: Path, seq: int, at: object, kind: object, payload: object, data: object) -> tuple[float, Event]:
    try:  # no context manager: it would cost as much as reading the event
        return check_time(at), decode(kind, payload, data)
    except ValueError as error:
        raise _unreadable(path, seq, error) from error


def _event(path: Path, seq: int, kind: object, payload: object, data: object) -> Event:
    try:
        return decode(kind, payload, data)
    except ValueError as error:
        raise _unreadable(path, seq, error) from error


def _time(path: Path, seq: int, at: object) -> float:
    try:
        return check_time(at)
    except ValueError as error:
        raise _unreadable(path, seq, error) from error


def _unreadable(path: Path, seq: int, error: ValueError) -> JournalError:
    why = f"event {seq} cannot be read: {error}"
    return JournalError(f"{path}: {why}; `behavesim verify` lists what is damaged")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the disk refuse into JournalError with what to do next."""
    try:
        yield
    except (*UNREADABLE, OSError) as error:
        raise JournalError(f"{path}: {one_line(str(error))}{_advice(error)}") from error


def _advice(error: Exception) -> str:
    text = str(error)
    if "full" in text or "No space" in text:
        return "; make room on the disk, then resume the run"
    if isinstance(error, FileNotFoundError):
        return "; its folder was moved, or emptied, while the run went on: resume the run where it is now"
    if "locked" in text:
        return "; another process holds the database, close it, then resume the run"
    if "readonly" in text or "unable to open" in text:
        return "; check that the folder is yours to write"
    if any(sign in text for sign in ("malformed", "not a database", "decode")):
        return "; the file is damaged, `behavesim verify` says where"
    return ""
