"""The write-ahead log of a journal, which must not grow without a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

PAGE_BYTES = 4096
CHECKPOINT_PAGES = 16_384
"""The log may grow to 64 MB before it is moved into the database: a folder copied meanwhile is whole."""


class WriteAheadLog:
    """The log beside a journal; `notes` is told, once each time, when it cannot be emptied, and when it was.

    SQLite moves the log into the database by itself, but not while another process reads a state of the database from
    before: as long as that one stays in its transaction, the log grows.
    """

    def __init__(self, journal: Path, pages: int, notes: Callable[[str], None]) -> None:
        """`pages` is the length at which the log is moved into the database."""
        self._journal = journal
        self._path = journal.with_name(f"{journal.name}-wal")
        self._pages = pages
        self._notes = notes
        self._is_held = False

    @property
    def pragmas(self) -> tuple[str, ...]:
        """What to tell SQLite: when to move the log, and to cut it off once it has been moved."""
        limit = self._pages * PAGE_BYTES
        return f"PRAGMA wal_autocheckpoint = {self._pages}", f"PRAGMA journal_size_limit = {limit}"

    def look(self) -> None:
        """Tell what there is to tell; a log twice as long as it should be is held by somebody."""
        size, limit = self._size(), self._pages * PAGE_BYTES
        if not self._is_held and size > 2 * limit:
            self._is_held = True
            self._notes(
                f"{self._path} has grown to {size / 1e6:,.0f} MB and cannot be emptied: another process is in the "
                f"middle of reading {self._journal.name}, such as an open database browser or a query in sqlite3; "
                f"end it (`fuser {self._journal}` names it)"
            )
        elif self._is_held and 2 * size < 3 * limit:  # the last commit before it is moved goes beyond
            self._is_held = False
            self._notes(f"{self._path} has been emptied: nobody holds it any more")

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0
