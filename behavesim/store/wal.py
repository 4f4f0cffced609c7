"""The write-ahead log of a journal: synced to the disk while commits go on, and emptied by SQLite when it is long."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

FLUSH_S = 1.0
"""Seconds between syncs of the log to the disk: a power cut can lose the commits since the last one."""
LIMIT_BYTES = 64 << 20
"""Length in bytes, about, at which the log is moved into the database.

Until then the database's file does not change, so that a folder copied during a run is whole.
"""
PAGE_BYTES = 4096
"""SQLite's default size of a page of its files, in bytes; it counts the log in pages."""


class WriteAheadLog:
    """Syncs the log in a thread while a journal is written, so that commits do not wait for the disk.

    SQLite itself moves a long log into the database, at the end of a commit, which then takes about half a second. It
    cannot do so, and the log grows, while another process reads an old state of the database. `notes` is called with
    one line when that is noticed, and again when it is over.
    """

    def __init__(self, journal: Path, limit: int, notes: Callable[[str], None]) -> None:
        """`limit` is the length in bytes at which the log is moved into the database."""
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
        """Statements for the connection that commits: when SQLite moves the log, and to what length it then cuts it."""
        pages = max(1, self._limit // PAGE_BYTES)
        return f"PRAGMA wal_autocheckpoint = {pages}", f"PRAGMA journal_size_limit = {self._limit}"

    def log_check(self) -> Callable[[], bool]:
        """Return a function that returns False once another file has replaced the log that is there now, else True.

        It returns True also if the log is missing: if the whole folder was moved, commits still reach the log in it.
        Raises OSError if there is no log now.
        """
        now = self._log.stat()

        def is_still_so() -> bool:
            return not self._log.exists() or os.path.samestat(self._log.stat(), now)

        return is_still_so

    def committed(self) -> None:
        """Note that there was a commit, and start syncing in the background unless it is going on.

        Raises OSError if syncing earlier commits failed.
        """
        self._is_synced = False
        if self._syncing is not None and self._syncing.done():
            self._syncing.result()  # raises what went wrong in the background
        if self._syncing is None or self._syncing.done():
            self._syncing = asyncio.create_task(self._sync())

    async def close(self) -> None:
        """Sync the last commits to the disk; raises OSError if that fails.

        SQLite itself does so on closing only if no other process has the journal open.
        """
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
    """Sync a log to the disk; raises OSError if that fails."""
    file = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)  # closing a descriptor of the other two files would drop SQLite's locks on them
