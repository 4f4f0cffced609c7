"""A journal's file as a read-only database, and queries of it that decode no event."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.base.errors import JournalError
from behavesim.base.text import one_line
from behavesim.store.schema import EVENTS, VERSION

LATEST = 253402300800.0
"""The end of the year 9999, in seconds since 1970: Python's dates go no further."""
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Exceptions that reading a damaged file raises; UnicodeDecodeError comes from SQLite messages that are not UTF-8."""

_DAMAGED = "the file is damaged, `behavesim verify` says where"
_READ_ONLY = "check that the folder is yours to write"
_FULL = "make room on the disk, then resume the run"
_ADVICE = {
    "full": _FULL,
    "No space": _FULL,
    "No such file": "its folder was moved, or emptied, while the run went on: resume the run where it is now",
    "locked": "another process holds the database, close it, then resume the run",
    "readonly": _READ_ONLY,
    "unable to open": _READ_ONLY,
    "malformed": _DAMAGED,
    "not a database": _DAMAGED,
    "decode": _DAMAGED,
}
"""Advice about an error of SQLite or the system, by words in its message; the first that occur in it count."""


_COUNT = "SELECT type, count(*) FROM events GROUP BY type"
# rows are numbered in the order of the commits: a choice counts if it is behind all that it could have chosen from
_RECOMMENDED = """
SELECT coalesce(max(seq), 0) > (
    SELECT coalesce(max(seq), 0) FROM events WHERE type IN ('Added', 'NotAdded', 'RunForked')
) FROM events WHERE type = 'Recommended'
"""
_TOKENS = """
SELECT count(*),
       coalesce(sum(coalesce(call.value ->> 'prompt', call.value ->> 'estimated_prompt')), 0),
       coalesce(sum(coalesce(call.value ->> 'completion', call.value ->> 'estimated_completion')), 0)
FROM events, json_each(events.payload, '$.reply.calls') AS call WHERE events.type IN ('Responded', 'NoteReceived')
"""


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection to a journal.

    Raises JournalError if there is no journal, the file is something else or of another version, or SQLite or the
    system raises an error in the block.
    """
    refuse_missing(path)
    with translated(path), closing(connected(path)) as connection:
        [(version,)] = connection.execute("PRAGMA user_version")
        if not is_journal(path, version):
            raise JournalError(f"{path} holds no journal of a run; it ended before it began, or is something else")
        if not holds_events(connection):
            raise JournalError(f"{path} is a database, but its table of events is not that of a run")
        yield connection


def is_journal(path: Path, version: int) -> bool:
    """Return whether `version`, the `user_version` found in the database at `path`, is that of a journal.

    False if it is 0, as in an empty file or another program's database. Raises JournalError for any other version:
    an older or newer behavesim wrote the journal.
    """
    if version in (0, VERSION):
        return version == VERSION
    whose, advice = ("a newer", "upgrade behavesim") if version > VERSION else ("an older", "read it with that one")
    said = f"{path} was written by {whose} behavesim (schema {version}, this one reads {VERSION})"
    raise JournalError(f"{said}; {advice}")


def holds_events(db: sqlite3.Connection) -> bool:
    """Whether `events` is exactly the table of a journal; a view in its place could yield rows without end."""
    found = db.execute("SELECT type, sql FROM sqlite_schema WHERE name = 'events'").fetchall()
    return found == [("table", EVENTS)]


def refuse_missing(path: Path) -> None:
    """Raise JournalError if there is no regular file at `path`."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")


def connected(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a journal as it is, without a check of its version; the caller closes it.

    SQLite makes files beside the journal to read it. If the folder forbids that and there is no write-ahead log, SQLite
    is told that nobody writes (`immutable`). Raises sqlite3.Error if the file cannot be opened.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    # with a log there may be a writer, and `immutable` would ignore what it commits
    if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        uri += "&immutable=1"
    return sqlite3.connect(uri, uri=True)


@dataclass(frozen=True)
class Progress:
    """Counts of a run: registered candidates, requests that an endpoint answered (`calls`), and their tokens.

    `recommended` says whether the choice of a program on validation instances was made among all of these candidates,
    even if none was chosen.
    Tokens that an endpoint did not count are estimates.
    """

    registered: int
    recommended: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int


def progress(journal: Path) -> Progress:
    """Return a run's numbers of registered candidates, requests and tokens, and whether its recommendation was made.

    Raises JournalError if there is no journal or it cannot be read.
    """
    with opened(journal) as db:
        counts = dict(db.execute(_COUNT).fetchall())
        [(recommended,)] = db.execute(_RECOMMENDED)
        calls, prompt, completion = db.execute(_TOKENS).fetchone()
    registered = counts.get("Added", 0) + counts.get("NotAdded", 0)
    return Progress(registered, bool(recommended), calls, prompt, completion)


def count_registered(path: Path) -> int:
    """Return the number of registered candidates, feasible or rejected.

    Raises JournalError if there is no journal or it cannot be read.
    """
    [(count,)] = _rows(path, "SELECT count(*) FROM events WHERE type IN ('Added', 'NotAdded')")
    return int(count)


def first_time(path: Path) -> float | None:
    """Return the time of the first event, in seconds since 1970; None if the journal has no event.

    Raises JournalError if the journal or that time cannot be read.
    """
    for seq, at in _rows(path, "SELECT seq, at FROM events ORDER BY seq LIMIT 1"):
        try:
            return check_time(at)
        except ValueError as error:
            raise unreadable(path, seq, error) from error
    return None


def last_event(path: Path) -> int:
    """Return the number of the last event, 0 if there is none.

    Raises JournalError if there is no journal or it cannot be read.
    """
    [(last,)] = _rows(path, "SELECT coalesce(max(seq), 0) FROM events")
    return int(last)


def origin(path: Path) -> tuple[object, ...]:
    """Return an identity of a journal, to notice another journal made later under the same path.

    It is the file's inode number, then the time, type and payload of the first event if there is one. Raises
    JournalError if there is no journal or it cannot be read.
    """
    first = _rows(path, "SELECT at, type, payload FROM events ORDER BY seq LIMIT 1")
    with translated(path):
        return path.stat().st_ino, *first


def _rows(path: Path, query: str) -> list[Any]:
    with opened(path) as connection:
        return connection.execute(query).fetchall()


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


def copy_journal(path: Path, to: Path) -> None:
    """Copy a journal's present content to the file `to`, which appears only when it is complete; its run may go on.

    Raises sqlite3.Error if the journal cannot be read or copied, OSError if the copy cannot be put in its place.
    """
    draft = to.with_suffix(".draft")  # a process that is killed here leaves no half journal
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # else SQLite would let everybody read it
    with closing(connected(path)) as db, closing(sqlite3.connect(draft)) as copy:
        db.backup(copy)
    draft.replace(to)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise errors of SQLite, OSErrors and undecodable text in the block as JournalError, with advice where known."""
    try:
        yield
    except (*UNREADABLE, OSError) as error:
        said = one_line(str(error))
        advice = next((f"; {advice}" for sign, advice in _ADVICE.items() if sign in said), "")
        raise JournalError(f"{path}: {said}{advice}") from error
