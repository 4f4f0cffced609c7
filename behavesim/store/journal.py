"""The journal: a run's events in SQLite, appended by the one process that runs the search."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import aiosqlite

from behavesim.base.errors import JournalError
from behavesim.base.finished import finished
from behavesim.state.events import CandidateId, Evaluated, Event, Rejected
from behavesim.store.codec import HIGHEST, row_of
from behavesim.store.database import LATEST, is_journal, translated
from behavesim.store.reading import OUTCOME, outcome_of
from behavesim.store.schema import NEW_JOURNAL
from behavesim.store.wal import LIMIT_BYTES, WriteAheadLog

_INSERT = "INSERT INTO events (seq, at, candidate, type, payload, data, seal) VALUES (?, ?, ?, ?, ?, ?, ?)"
_INSERT_PASSAGE = "INSERT OR IGNORE INTO passages (number, text) VALUES (?, ?)"

LATEST_START = LATEST - 10 * 365 * 86400.0
"""The latest time, in seconds since 1970, at which a session begins by its own clock; a clock set later counts as this.

It is ten years before LATEST, so that all events of the session have a time that can be read.
"""
PATIENCE_S = 5.0
"""Seconds that a commit waits for another process that has locked the database, before it fails."""

_LAST = "SELECT coalesce(max(seq), 0) FROM events"
_OWNED = """
CREATE TEMP TRIGGER owned BEFORE INSERT ON main.events
WHEN (SELECT token FROM main.owner) IS NOT '{token}' OR NOT has_log()
BEGIN SELECT RAISE(ABORT, 'the journal has another owner'); END
"""
"""Aborts a commit if another process has taken over the journal: needed on file systems where locks have no effect.

There, another process may also have replaced the write-ahead log: `has_log` returns false then.
"""


class SqliteJournal:
    """An append-only journal in write-ahead mode; an async context manager that owns its connection.

    A committed event survives the death of the process. Commits are synced to the disk once a second: a power cut can
    lose about the last second, and earlier events stay consistent. The connection works in the thread of `aiosqlite`,
    so that neither a lock nor a slow disk blocks the event loop. Entering makes the journal if the file is missing or
    empty. It raises JournalError if that fails, if the journal is of another version, or if the file is another
    program's database.
    """

    def __init__(
        self,
        path: Path,
        patience_s: float = PATIENCE_S,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
        notes: Callable[[str], None] = lambda line: None,
        log_bytes: int = LIMIT_BYTES,
    ) -> None:
        """`wall` gives seconds since 1970 and is read once; `steady` gives the seconds that pass after that.

        The times of a session therefore never jump when somebody sets the machine's clock. `patience_s` limits the
        wait for a locked database. `notes` is called with one line when a person should act. `log_bytes` is the length
        at which the write-ahead log is moved into the database.
        """
        self._path = path
        self._log = WriteAheadLog(path, log_bytes, notes)
        self._patience_s = patience_s
        self._steady = steady
        self._clock_offset = min(max(wall(), 0.0), LATEST_START) - steady()
        self._connection: aiosqlite.Connection | None = None
        self._last: int  # the number of the last event that is committed, read when the journal is entered
        self._turn = asyncio.Lock()  # one transaction at a time

    async def __aenter__(self) -> SqliteJournal:
        with suppress(OSError):  # it exists, or SQLite says why it cannot be made
            # SQLite would let everybody read it; the log beside it gets the same rights
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with translated(self._path):
            self._connection = await aiosqlite.connect(
                self._path, isolation_level="IMMEDIATE", timeout=self._patience_s
            )
            try:
                # before WAL mode is set: a journal of another version must stay as it is
                [(version,)] = await self._db.execute_fetchall("PRAGMA user_version")
                if not is_journal(self._path, version):
                    await self._refuse_tables()
                    await self._db.executescript(NEW_JOURNAL)
                for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", *self._log.pragmas):
                    await self._db.execute_fetchall(pragma)
                await self._take_over()
            except BaseException:
                await finished(self._db.close())
                raise
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with translated(self._path):
                await self._log.close()  # while the connection is open: SQLite deletes the log when it closes
        finally:
            await finished(self._db.close())

    async def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction: on return they survive the death of this process.

        If the caller is cancelled, the commit still finishes before the cancellation is raised. Raises JournalError if
        the events cannot be written, if another process owns the journal, or if syncing earlier commits failed.
        """
        await finished(self._append(events))

    async def earlier_outcome(self, candidate: CandidateId, source: str) -> Evaluated | Rejected:
        """Return the last committed outcome of a candidate's program with this text, trajectories included.

        Raises JournalError if none was committed, or if it cannot be read.
        """
        with translated(self._path):
            return outcome_of(self._path, await self._db.execute_fetchall(OUTCOME, (candidate, source, HIGHEST)))

    async def _refuse_tables(self) -> None:
        """Raise JournalError if the file, which is no journal, holds tables: it is another program's database."""
        [(tables,)] = await self._db.execute_fetchall("SELECT count(*) FROM sqlite_schema")
        if tables:
            raise JournalError(f"{self._path} is another program's database, and stays as it is; move it elsewhere")

    async def _append(self, events: Sequence[Event]) -> None:
        async with self._turn:
            now = self._clock_offset + self._steady()
            passages: dict[int, str] = {}
            rows = [row_of(seq, now, event, passages) for seq, event in enumerate(events, self._last + 1)]
            with translated(self._path):
                await self._insert(rows, passages)
                self._last += len(rows)
                self._log.committed()

    async def _take_over(self) -> None:
        """Record this process as the owner; the previous owner's next commit fails if it is still alive."""
        token = secrets.token_hex(8)
        # the first change takes the write lock, so nobody can append between it and the reading of the last number
        await self._db.execute_fetchall("DELETE FROM owner")
        await self._db.execute_fetchall(
            "INSERT INTO owner VALUES (?, ?, ?)", (token, socket.gethostname(), os.getpid())
        )
        [(self._last,)] = await self._db.execute_fetchall(_LAST)
        await self._db.commit()
        await self._db.create_function("has_log", 0, self._log.log_check())
        await self._db.execute_fetchall(_OWNED.format(token=token))

    async def _insert(self, rows: Sequence[tuple[object, ...]], passages: dict[int, str]) -> None:
        """Commit rows and the passages of their prompts, or nothing; raises JournalError if another process owns it."""
        try:
            if passages:
                await self._db.executemany(_INSERT_PASSAGE, passages.items())
            await self._db.executemany(_INSERT, rows)
            await self._db.commit()
        except BaseException as error:
            await self._db.rollback()  # else the next commit would write these rows, too
            if isinstance(error, sqlite3.IntegrityError):  # the trigger, or a number that another process has used
                raise await self._disowned() from error
            raise

    async def _disowned(self) -> JournalError:
        """Return the error for a commit refused because another process has appended or taken over."""
        owners = await self._db.execute_fetchall("SELECT host, process FROM owner")
        named = "".join(f", process {process} on {host} was the last to open it" for host, process in owners)
        return JournalError(
            f"{self._path}: another process writes this journal{named}; only one may: end the other one, then resume "
            "the run. Nothing more was written here, and what had been committed stays"
        )

    @property
    def _db(self) -> aiosqlite.Connection:
        assert self._connection is not None, "the journal is open inside `async with`"
        return self._connection
