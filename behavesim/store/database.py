"""A journal's file as a read-only database, and the questions that need no decoded event."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from behavesim.base.errors import JournalError
from behavesim.base.text import one_line
from behavesim.store.schema import VERSION, holds_events
from behavesim.store.upgrade import refuse_foreign, upgrade, version_of

LATEST = 253402300800.0
"""The end of the year 9999, in seconds since 1970: Python's dates go no further."""
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Exceptions that reading a damaged file raises; UnicodeDecodeError comes from SQLite messages that are not UTF-8."""


def open_to_read(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a journal; the caller closes it. An older journal is first upgraded on disk.

    Raises JournalError if there is no journal, if its version is too new or too old, or if the file is something else.
    """
    refuse_missing(path)
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


def refuse_missing(path: Path) -> None:
    """Raise JournalError if there is no file at `path`."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")


def connected(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a journal as it is, without a check of its version; the caller closes it.

    SQLite makes files beside the journal to read it. Where it may not, it is told that nobody writes (`immutable`).
    Raises sqlite3.Error if the file cannot be opened.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        uri += "&immutable=1"
    return sqlite3.connect(uri, uri=True)


def count_registered(path: Path) -> int:
    """Return the number of registered candidates, feasible or rejected; raises JournalError as `open_to_read` does."""
    with translated(path), closing(open_to_read(path)) as connection:
        query = "SELECT count(*) FROM events WHERE type IN ('Added', 'NotAdded')"
        return int(connection.execute(query).fetchone()[0])


def first_time(path: Path) -> float | None:
    """Return the time of the first event, in seconds since 1970; None if the journal has no event.

    Raises JournalError if the journal or that time cannot be read.
    """
    with translated(path), closing(open_to_read(path)) as connection:
        row = connection.execute("SELECT seq, at FROM events ORDER BY seq LIMIT 1").fetchone()
    if row is None:
        return None
    seq, at = row
    try:
        return check_time(at)
    except ValueError as error:
        raise unreadable(path, seq, error) from error


def last_event(path: Path) -> int:
    """Return the number of the last event, 0 if there is none; raises JournalError as `open_to_read` does."""
    with translated(path), closing(open_to_read(path)) as connection:
        return int(connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])


def origin(path: Path) -> tuple[object, ...]:
    """Return an identity of a journal, to notice another journal made later under the same path.

    It is the file's inode number, then the time, type and payload of the first event if there is one. Raises
    JournalError as `open_to_read` does.
    """
    with translated(path), closing(open_to_read(path)) as connection:
        first = connection.execute("SELECT at, type, payload FROM events ORDER BY seq LIMIT 1").fetchone()
        return path.stat().st_ino, *(first or ())


def check_is_current(path: Path) -> None:
    """Raise JournalError if there is no journal or if it is of another version; an older one is not upgraded."""
    refuse_missing(path)
    with translated(path), closing(connected(path)) as connection:
        version = version_of(connection)
    if version != VERSION:
        refuse_foreign(path, version, VERSION)
        raise JournalError(f"{path} was written by an older behavesim; `behavesim report` brings it up to date")


def check_time(at: object) -> float:
    """Return the time of a row, in seconds since 1970, unchanged.

    Raises ValueError if it is not a float, is negative, or is beyond the year 9999.
    """
    if not isinstance(at, float) or not 0 <= at < LATEST:
        raise ValueError(f"its time is {at!r:.40}")
    return at


def unreadable(path: Path, seq: int, error: ValueError) -> JournalError:
    """Return, not raise, the error for event number `seq` that cannot be decoded; `error` says why."""
    why = f"event {seq} cannot be read: {error}"
    return JournalError(f"{path}: {why}; `behavesim verify` lists what is damaged")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise errors of SQLite, OSErrors and undecodable text in the block as JournalError, with what to do next."""
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
