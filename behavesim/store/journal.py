"""The journal: a run's events in SQLite, appended by the one process that runs the search.

`SqliteJournal` commits the events; its `WriteAheadLog` is synced to the disk meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import aiosqlite

from behavesim.base.errors import JournalError
from behavesim.base.heartbeat import await_finished
from behavesim.state.events import CandidateId, Evaluated, Event, Rejected
from behavesim.store.codec import HIGHEST, row_of
from behavesim.store.database import LATEST, is_journal, new_journal, translate_errors
from behavesim.store.reading import OUTCOME, outcome_of

# Seconds that a commit waits for another process that has locked the database, before it fails.
PATIENCE_S = 5.0
# The latest time, in seconds since 1970, at which a session begins by its own clock; a clock set later counts as this.
#
# It is ten years before LATEST, so that all events of the session have a time that can be read.
LATEST_START = LATEST - 10 * 365 * 86400.0
# Length in bytes, about, at which the log is moved into the database.
#
# Until then the database's file does not change, so that a folder copied during a run is whole.
LIMIT_BYTES = 64 << 20
_INSERT = "INSERT INTO events (seq, at, candidate, type, payload, data, seal) VALUES (?, ?, ?, ?, ?, ?, ?)"
_LAST = "SELECT coalesce(max(seq), 0) FROM events"


class SqliteJournal:
    """An append-only journal in write-ahead mode; an async context manager that owns its connection.

    A committed event survives the death of the process. Commits are synced to the disk once a second: a power cut can
    lose about the last second, and earlier events stay consistent. Entering makes the journal if the file is missing or
    empty; it raises JournalError for a journal of another version, or another program's database.
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
        """`wall` gives seconds since 1970, `steady` those that pass; `notes` gets a line when a person should act.

        `patience_s` limits the wait for a locked database. `log_bytes` is the length at which the log is moved into it.
        """
        self._path = path
        self._log = WriteAheadLog(path, log_bytes, notes)
        self._patience_s = patience_s
        self._steady = steady
        # `wall` is read once: the times of a session never jump when somebody sets the machine's clock
        self._clock_offset = min(max(wall(), 0.0), LATEST_START) - steady()
        self._connection: aiosqlite.Connection | None = None
        self._last: int  # the number of the last event that is committed, read when the journal is entered
        self._turn = asyncio.Lock()  # one transaction at a time

    async def __aenter__(self) -> SqliteJournal:
        with suppress(OSError):  # it exists, or SQLite says why it cannot be made
            # SQLite would let everybody read it; the log beside it gets the same rights
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with translate_errors(self._path):
            # in a thread of its own, so that neither a lock nor a slow disk blocks the event loop
            self._connection = await aiosqlite.connect(
                self._path, isolation_level="IMMEDIATE", timeout=self._patience_s
            )
            try:
                # before WAL mode is set: a journal of another version must stay as it is
                [(version,)] = await self._db.execute_fetchall("PRAGMA user_version")
                if not is_journal(self._path, version):
                    [(tables,)] = await self._db.execute_fetchall("SELECT count(*) FROM sqlite_schema")
                    if tables:
                        said = f"{self._path} is another program's database, and stays as it is; move it elsewhere"
                        raise JournalError(said)
                    await self._db.executescript(new_journal())
                for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", *self._log.pragmas):
                    await self._db.execute_fetchall(pragma)
                [(self._last,)] = await self._db.execute_fetchall(_LAST)
            except BaseException:  # else the connection's thread would live on, and keep the process from ending
                await await_finished(self._db.close())
                raise
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with translate_errors(self._path):
                await self._log.close()  # while the connection is open: SQLite deletes the log when it closes
        finally:
            await await_finished(self._db.close())

    async def append(self, events: Sequence[Event]) -> None:
        """Commit events in one transaction: on return they survive the death of this process."""
        # Also if the caller is cancelled: else events could be in the journal of which the search knows nothing. Raises
        # JournalError if another process appended meanwhile, or if these events or earlier syncs failed.
        await await_finished(self._append(events))

    async def earlier_outcome(self, candidate: CandidateId, source: str) -> Evaluated | Rejected:
        """Return the last committed outcome of a candidate's program with this text; JournalError if there is none."""
        with translate_errors(self._path):
            return outcome_of(self._path, await self._db.execute_fetchall(OUTCOME, (candidate, source, HIGHEST)))

    async def _append(self, events: Sequence[Event]) -> None:
        async with self._turn:
            now = self._clock_offset + self._steady()
            rows = [row_of(seq, now, event) for seq, event in enumerate(events, self._last + 1)]
            with translate_errors(self._path):
                await self._insert(rows)
                self._last += len(rows)
                self._log.committed()

    async def _insert(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Commit all rows or none."""
        try:
            await self._db.executemany(_INSERT, rows)
            await self._db.commit()
        except BaseException as error:
            await self._db.rollback()  # else the next commit would write these rows, too
            # The numbers follow on this process's last one, so a second writer that gets past the run's lock ends here:
            # of two rows with one number the second is refused, and no event is written over or decided upon twice.
            if isinstance(error, sqlite3.IntegrityError):
                raise JournalError(
                    f"{self._path}: another process writes this journal; only one may: end the other one, then resume "
                    "the run. Nothing more was written here, and what had been committed stays"
                ) from error
            raise

    @property
    def _db(self) -> aiosqlite.Connection:
        assert self._connection is not None, "the journal is open inside `async with`"
        return self._connection


# Seconds between syncs of the log to the disk: a power cut can lose the commits since the last one.
#
# `synchronous = FULL` would sync in each commit. Measured in turn, one event a commit: 90 to 750 events/s in place of
# 5 300, with two to three times the CPU time, and 36 ms for a commit on a busy disk, for which later replies wait.
FLUSH_S = 1.0
# SQLite's default size of a page of its files, in bytes; it counts the log in pages.
PAGE_BYTES = 4096


class WriteAheadLog:
    """Syncs the log in a thread while a journal is written, so that commits do not wait for the disk.

    `notes` is called with one line when the log cannot be emptied, and again when that is over.
    """

    def __init__(self, journal: Path, limit: int, notes: Callable[[str], None]) -> None:
        self._journal = journal
        self._log = journal.with_name(f"{journal.name}-wal")
        self._limit = limit
        self._notes = notes
        self._is_held = False
        self._is_synced = True
        self._syncing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    @property
    def pragmas(self) -> tuple[str, ...]:
        """Statements for the connection that commits: at what length SQLite moves the log, and cuts it afterwards."""
        pages = max(1, self._limit // PAGE_BYTES)
        return f"PRAGMA wal_autocheckpoint = {pages}", f"PRAGMA journal_size_limit = {self._limit}"

    def committed(self) -> None:
        """Note a commit, and sync in the background; raises OSError if syncing earlier commits failed."""
        self._is_synced = False
        if self._syncing is not None and self._syncing.done():
            self._syncing.result()  # raises what went wrong in the background
        if self._syncing is None or self._syncing.done():
            self._syncing = asyncio.create_task(self._sync())

    async def close(self) -> None:
        """Sync the last commits to the disk; raises OSError if that fails."""
        # SQLite itself does so on closing only if no other process has the journal open
        self._closing.set()
        if self._syncing is not None:
            await self._syncing

    async def _sync(self) -> None:
        """Sync commits to the disk every FLUSH_S seconds until all are, at once when closing."""
        while not self._is_synced:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), FLUSH_S)
            self._is_synced = True
            await asyncio.to_thread(_synced, self._log)
            self._report_length()

    def _report_length(self) -> None:
        """Report when the log exceeds twice its limit, which means that a reader holds it, and when that ends."""
        # SQLite cannot move the log into the database while another process reads an older state, and the log grows
        size = self._log.stat().st_size
        if not self._is_held and size > 2 * self._limit:
            self._is_held = True
            self._notes(
                f"{self._log} has grown to {size / 1e6:,.0f} MB and cannot be emptied: another process is in the "
                f"middle of reading {self._journal.name}, such as an open database browser or a query in sqlite3; "
                f"end it (`fuser {self._journal}` names it)"
            )
        elif self._is_held and 2 * size < 3 * self._limit:  # an emptied log still exceeds its limit by one commit
            self._is_held = False
            self._notes(f"{self._log} has been emptied: nobody holds it any more")


def _synced(log: Path) -> None:
    file = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)  # closing a descriptor of the other two files would drop SQLite's locks on them
