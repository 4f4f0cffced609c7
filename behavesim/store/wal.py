"""The write-ahead log of a journal: it is synced to the disk and moved into the database while commits go on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import aiosqlite

FLUSH_S = 1.0
"""Seconds between syncs of the log to the disk: a power cut can lose the commits since the last one."""
LIMIT_BYTES = 64 << 20
"""Length in bytes, about, at which the log is moved into the database.

Until then the database's file does not change, so that a folder copied during a run is whole.
"""
CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"
"""Statement that copies the log into the database, up to where a reader still needs the old state.

It answers one row: whether it was blocked, the number of pages in the log, and how many of them are copied.
"""


class WriteAheadLog:
    """Syncs and moves the log in threads while a journal is written, so that commits do not wait for the disk.

    SQLite itself would make one commit a second wait for the disk, and some commits wait most of a second while the
    whole log is moved. The log cannot be emptied, and grows, while another process reads an old state of the database.
    `notes` is called with one line when that is noticed, and again when it is over.
    """

    def __init__(
        self, journal: Path, limit: int, notes: Callable[[str], None], catch_up: Callable[[], Awaitable[bool]]
    ) -> None:
        """`limit` is the length in bytes at which the log is moved into the database.

        Commits may add to the log while it is moved. `catch_up` then moves the rest between two commits, and returns
        False if another process prevented moving all of it.
        """
        self._journal = journal
        self._log = journal.with_name(f"{journal.name}-wal")
        self._limit = limit
        self._notes = notes
        self._catch_up = catch_up
        self._unflushed = 0
        self._unmoved = 0
        self._is_held = False
        self._flushing: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    @property
    def pragmas(self) -> tuple[str, ...]:
        """Statements for the connection that commits: SQLite must not move the log itself, but cuts a moved log."""
        return "PRAGMA wal_autocheckpoint = 0", f"PRAGMA journal_size_limit = {self._limit}"

    def log_check(self) -> Callable[[], bool]:
        """Return a function that returns whether the log's file is still the one that is there now.

        A missing log counts as the same: if the whole folder was moved, commits still reach the log in it.
        Raises OSError if there is no log now.
        """
        now = self._log.stat()

        def is_still_so() -> bool:
            return not self._log.exists() or os.path.samestat(self._log.stat(), now)

        return is_still_so

    def committed(self, size: int) -> None:
        """Note that a commit added `size` bytes, and start syncing in the background unless it is going on.

        Raises OSError or sqlite3.DatabaseError if syncing or moving earlier commits failed.
        """
        self._unflushed += size
        if self._flushing is not None and self._flushing.done():
            self._flushing.result()  # raises what went wrong in the background
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())

    async def close(self) -> None:
        """Sync the last commits to the disk; SQLite does so only if no other process has the journal open.

        Raises what `committed` raises.
        """
        self._closing.set()
        if self._flushing is not None:
            await self._flushing

    async def _flush(self) -> None:
        """Sync commits to the disk every FLUSH_S seconds until all are, at once when closing; move a long log."""
        while self._unflushed:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), FLUSH_S)
            self._unmoved, self._unflushed = self._unmoved + self._unflushed, 0
            await asyncio.to_thread(self._sync)
            if self._unmoved >= self._limit:
                # most of it beside the commits; the rest, which they added meanwhile, between two of them
                await self._move()
                if await self._catch_up():
                    self._unmoved = 0  # the next commit begins the log anew
            self._report_length()

    def _sync(self) -> None:
        log = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(log)
        finally:
            os.close(log)  # closing a descriptor of the other two files would drop SQLite's locks on them

    async def _move(self) -> None:
        async with aiosqlite.connect(self._journal, timeout=0) as connection:
            await connection.execute_fetchall(CHECKPOINT)  # fetch all rows: an unfinished statement would block commits

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
