"""A journal's file as a database that others may write: opened to be read only, and asked what needs no event."""

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
"""The end of the year 9999, in seconds since 1970."""
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What SQLite raises for a damaged file; its own words may then be no UTF-8."""


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


def count_registered(path: Path) -> int:
    """How many candidates are registered."""
    with translated(path), closing(open_to_read(path)) as connection:
        query = "SELECT count(*) FROM events WHERE type IN ('Added', 'NotAdded')"
        return int(connection.execute(query).fetchone()[0])


def first_time(path: Path) -> float | None:
    """The time of the first event; None where there is none."""
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
    """The number of the last event; 0 where there is none."""
    with translated(path), closing(open_to_read(path)) as connection:
        return int(connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])


def origin(path: Path) -> tuple[object, ...]:
    """Return what tells a journal from another made later in its place: its file's number, and its first event."""
    with translated(path), closing(open_to_read(path)) as connection:
        first = connection.execute("SELECT at, type, payload FROM events ORDER BY seq LIMIT 1").fetchone()
        return path.stat().st_ino, *(first or ())


def check_is_current(path: Path) -> None:
    """Raise JournalError where a journal cannot be read as it is: there is none, or it is of another version."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")
    with translated(path), closing(connected(path)) as connection:
        version = version_of(connection)
    if version != VERSION:
        refuse_foreign(path, version, VERSION)
        raise JournalError(f"{path} was written by an older behavesim; `behavesim report` brings it up to date")


def check_time(at: object) -> float:
    """The time of a row, in seconds since 1970; raises ValueError where it is none, or one beyond the year 9999."""
    if not isinstance(at, float) or not 0 <= at < LATEST:
        raise ValueError(f"its time is {at!r:.40}")
    return at


def unreadable(path: Path, seq: int, error: ValueError) -> JournalError:
    """What to raise where a row holds no event, and why not."""
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
