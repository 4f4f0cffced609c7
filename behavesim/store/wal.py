"""The write-ahead log of a journal: brought to the disk, and moved into the database, beside the commits."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import aiosqlite

FLUSH_S = 1.0
"""How often commits are made to survive a power cut as well."""
LIMIT_BYTES = 64 << 20
"""The log may grow to about that before it is moved into the database: a folder copied meanwhile is whole."""
CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"
"""Copies into the database what no reader still needs from the log; answers how long the log is, and what is copied."""


class WriteAheadLog:
    """Looks after the log while a journal is written, in threads, so that commits do not wait for the disk.

    Left to SQLite, one commit a second would wait for the disk, and now and then one for the whole log to be moved,
    which takes most of a second. As long as another process reads a state of the database from before, the log cannot
    be emptied, and grows: `notes` is told, once each time, when that is so, and when it is over.
    """

    def __init__(
        self, journal: Path, limit: int, notes: Callable[[str], None], catch_up: Callable[[], Awaitable[bool]]
    ) -> None:
        """`limit` is the length in bytes at which the log is moved.

        `catch_up` moves, between two commits, what came while the log was moved; False where not all of it could be.
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
        """What to tell SQLite: not to move the log by itself, and to cut it off once it has been moved."""
        return "PRAGMA wal_autocheckpoint = 0", f"PRAGMA journal_size_limit = {self._limit}"

    def is_the_same(self) -> Callable[[], bool]:
        """Return a function that says whether the log's file is still the one that is there now.

        A log that is missing counts as the same: where the whole folder was moved, commits still reach the log in it.
        """
        now = self._log.stat()

        def is_still_so() -> bool:
            return not self._log.exists() or os.path.samestat(self._log.stat(), now)

        return is_still_so

    def grew(self, size: int) -> None:
        """A commit added so many bytes; raises OSError or DatabaseError where the disk did not take earlier ones."""
        self._unflushed += size
        if self._flushing is not None and self._flushing.done():
            self._flushing.result()
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())

    async def close(self) -> None:
        """Bring the last commits to the disk: SQLite does that only where nobody else has the journal open.

        Raises what `grew` does.
        """
        self._closing.set()
        if self._flushing is not None:
            await self._flushing

    async def _flush(self) -> None:
        """Bring commits to the disk, until there are no more of them."""
        while self._unflushed:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), FLUSH_S)
            self._unmoved, self._unflushed = self._unmoved + self._unflushed, 0
            await asyncio.to_thread(self._sync)
            if self._unmoved >= self._limit:
                await self._move()
                if await self._catch_up():
                    self._unmoved = 0  # the next commit begins the log anew
            self._look()

    def _sync(self) -> None:
        log = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(log)
        finally:
            os.close(log)  # not to be done to the other two files: SQLite's locks on them would be gone

    async def _move(self) -> None:
        async with aiosqlite.connect(self._journal, timeout=0) as connection:
            await connection.execute_fetchall(CHECKPOINT)  # in one go: half a statement would hold up commits

    def _look(self) -> None:
        """Tell what there is to tell; a log twice as long as it should be is held by somebody."""
        size = self._log.stat().st_size
        if not self._is_held and size > 2 * self._limit:
            self._is_held = True
            self._notes(
                f"{self._log} has grown to {size / 1e6:,.0f} MB and cannot be emptied: another process is in the "
                f"middle of reading {self._journal.name}, such as an open database browser or a query in sqlite3; "
                f"end it (`fuser {self._journal}` names it)"
            )
        elif self._is_held and 2 * size < 3 * self._limit:  # the last commit before it is moved goes beyond
            self._is_held = False
            self._notes(f"{self._log} has been emptied: nobody holds it any more")
