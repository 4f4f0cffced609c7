"""The journal's database: tables, read-only connections, and queries that decode no event.

Errors of SQLite and the system become JournalError here, with advice where it is known.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.base.errors import JournalError
from behavesim.base.text import one_line

# The version of the tables, which SQLite keeps as the file's `user_version`; it changes with them.
#
# A further view needs no other version: only people read views, and older journals lack it.
VERSION = 7
EVENTS = """CREATE TABLE events (
    seq       INTEGER PRIMARY KEY,
    at        REAL NOT NULL,      -- seconds since 1970, UTC: the clock when the session began, and the seconds since
    candidate INTEGER,            -- NULL for events of the run; -1 is the template
    type      TEXT NOT NULL,
    payload   TEXT NOT NULL,      -- JSON
    data      BLOB,               -- trajectories of an Evaluated candidate; the text of a prompt, compressed
    seal      INTEGER             -- a hash of the other columns: a row without it is damaged, or another program's
) STRICT"""
_INDEX = "CREATE INDEX events_of_candidate ON events (candidate, type);"
TABLES = f"{EVENTS};\n{_INDEX}\n"


def new_journal() -> str:
    """Return the script that makes an empty file a journal without events, in one transaction."""
    views = Path(__file__).with_name("views.sql").read_text(encoding="utf-8")
    return f"BEGIN IMMEDIATE; {TABLES} {views} PRAGMA user_version = {VERSION}; COMMIT;"


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection to a journal.

    Raises JournalError if the file is missing, something else or of another version, or if SQLite or the system fails.
    """
    refuse_missing(path)
    with translate_errors(path), closing(open_unchecked(path)) as connection:
        [(version,)] = connection.execute("PRAGMA user_version")
        if not is_journal(path, version):
            raise JournalError(f"{path} holds no journal of a run; it ended before it began, or is something else")
        if not holds_events(connection):
            raise JournalError(f"{path} is a database, but its table of events is not that of a run")
        yield connection


def open_unchecked(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a journal as it is, of whatever version; the caller closes it."""
    # SQLite makes files beside the journal to read it. If the folder forbids that and there is no write-ahead log, it
    # is told that nobody writes. With a log there may be a writer, and `immutable` would ignore what it commits.
    uri = f"{path.absolute().as_uri()}?mode=ro"
    can_write = os.access(path.parent, os.W_OK)
    if can_write and path.with_name(f"{path.name}-journal").exists():
        # A process that was killed while it made the tables leaves SQLite's other log, which only a connection that may
        # write takes back. A process still at work is not disturbed: it holds a lock.
        with suppress(*UNREADABLE), closing(sqlite3.connect(path)) as writer:
            writer.execute("PRAGMA user_version").fetchall()
    if not can_write and not path.with_name(f"{path.name}-wal").exists():
        uri += "&immutable=1"
    return sqlite3.connect(uri, uri=True)


def refuse_missing(path: Path) -> None:
    """Raise JournalError if there is no regular file at `path`."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")


def is_journal(path: Path, version: int) -> bool:
    """Return whether `user_version` is a journal's, not 0; JournalError if another behavesim wrote the file."""
    # 0: an empty file, or another program's database
    if version in (0, VERSION):
        return version == VERSION
    whose, advice = ("a newer", "upgrade behavesim") if version > VERSION else ("an older", "read it with that one")
    said = f"{path} was written by {whose} behavesim (schema {version}, this one reads {VERSION})"
    raise JournalError(f"{said}; {advice}")


def holds_events(db: sqlite3.Connection) -> bool:
    """Whether `events` is exactly the table of a journal."""
    # a view in its place could yield rows without end
    found = db.execute("SELECT type, sql FROM sqlite_schema WHERE name = 'events'").fetchall()
    return found == [("table", EVENTS)]


# Exceptions that reading a damaged file raises; UnicodeDecodeError comes from SQLite messages that are not UTF-8.
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
# Parts of SQLite's names for errors that say nothing about the file, as where the disk is full or the folder closed.
_OUTSIDE = ("SHM", "CANTOPEN", "READONLY", "BUSY")
_DAMAGED = "the file is damaged, `behavesim verify` says where"
_READ_ONLY = "check that the folder is yours to write"
_FULL = "make room on the disk, then resume the run"
# Advice about an error of SQLite or the system, by words in its message; the first that occur in it count.
_ADVICE = {
    "disk I/O": "make room on the disk, where SQLite makes files beside it, or check the disk",
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


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite, OSErrors and undecodable text of the block as JournalError, with advice where known."""
    try:
        yield
    except (*UNREADABLE, OSError) as error:
        said = one_line(str(error))
        advice = next((f"; {advice}" for sign, advice in _ADVICE.items() if sign in said), "")
        raise JournalError(f"{path}: {said}{advice}") from error


def says_damage(error: Exception) -> bool:
    """Whether an error of UNREADABLE can be due to the file's bytes, and not to what is around the file."""
    name = getattr(error, "sqlite_errorname", "")
    return not any(part in name for part in _OUTSIDE)


def unreadable(path: Path, seq: int, error: ValueError) -> JournalError:
    """Return, not raise, the error for event number `seq` that cannot be decoded; `error` says why."""
    why = f"event {seq} cannot be read: {error}"
    return JournalError(f"{path}: {why}; `behavesim verify` lists what is damaged")


# The end of the year 9999, in seconds since 1970: Python's dates go no further.
LATEST = 253402300800.0


def check_time(at: object) -> float:
    """Return the time of a row, in seconds since 1970; ValueError if it is no float, negative, or beyond LATEST."""
    if not isinstance(at, float) or not 0 <= at < LATEST:
        raise ValueError(f"its time is {at!r:.40}")
    return at


def copy_journal(path: Path, to: Path) -> None:
    """Copy a journal's present content to the file `to`; its run may go on. Raises JournalError."""
    draft = to.with_suffix(".draft")  # `to` appears only when it is complete: a killed process leaves no half journal
    with translate_errors(path):
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # else SQLite would let all read it
        with closing(open_unchecked(path)) as db, closing(sqlite3.connect(draft)) as copy:
            db.backup(copy)
        draft.replace(to)


@dataclass(frozen=True)
class Progress:
    """Counts of a run: registered candidates that a budget counts, requests answered (`calls`), and their tokens.

    `recommended`: whether the choice on validation instances was made among all of these candidates, even if none was
    chosen. Tokens that an endpoint did not count are estimates.
    """

    registered: int
    recommended: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int


_TUNED = "SELECT candidate FROM events WHERE type = 'Asked' AND payload LIKE '%\"operator\":\"tune\"%'"
_QUESTIONS = f"SELECT count(*) FROM events WHERE type IN ('Added', 'NotAdded') AND candidate NOT IN ({_TUNED})"
# A choice counts if it was committed after every candidate that it could have chosen; `seq` is the order of commits.
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


def progress(journal: Path) -> Progress:
    """Return the counts of a run; raises JournalError, as all queries here do, if the journal cannot be read."""
    with open_database(journal) as db:
        [(registered,)] = db.execute(_QUESTIONS)
        [(recommended,)] = db.execute(_RECOMMENDED)
        calls, prompt, completion = db.execute(_TOKENS).fetchone()
    return Progress(registered, bool(recommended), calls, prompt, completion)


def count_registered(path: Path) -> int:
    """Return the number of registered candidates, feasible or rejected."""
    [(count,)] = _rows(path, "SELECT count(*) FROM events WHERE type IN ('Added', 'NotAdded')")
    return int(count)


def count_questions(path: Path) -> int:
    """Return the number of registered candidates that a budget counts: not those whose numbers the machine tuned."""
    [(count,)] = _rows(path, _QUESTIONS)
    return int(count)


def is_spent(path: Path, budget: int, tunes: bool) -> bool:
    """Whether a run has used up its budget, and if it `tunes`, has no program left to be tuned."""
    if count_questions(path) < budget:
        return False
    # after the last question a program may still be tuned: only the run itself knows
    ends = "SELECT type, payload FROM events WHERE type IN ('RunStopped', 'RunResumed', 'RunForked') ORDER BY seq DESC"
    last = _rows(path, f"{ends} LIMIT 1")
    return not tunes or any(kind == "RunStopped" and '"reason":"budget"' in payload for kind, payload in last)


def read_first_time(path: Path) -> float | None:
    """Return the time of the first event, in seconds since 1970; None if the journal has no event."""
    for seq, at in _rows(path, "SELECT seq, at FROM events ORDER BY seq LIMIT 1"):
        try:
            return check_time(at)
        except ValueError as error:
            raise unreadable(path, seq, error) from error
    return None


def last_event_number(path: Path) -> int:
    """Return the number of the last event, 0 if there is none."""
    [(last,)] = _rows(path, "SELECT coalesce(max(seq), 0) FROM events")
    return int(last)


def origin(path: Path) -> tuple[object, ...]:
    """Return an identity of a journal, to notice another one made later under the same path."""
    # the file's inode and the first event, if any: inodes are given again, and a copied journal has the same event
    first = _rows(path, "SELECT at, type, payload FROM events ORDER BY seq LIMIT 1")
    with translate_errors(path):
        return path.stat().st_ino, *first


def _rows(path: Path, query: str) -> list[Any]:
    with open_database(path) as connection:
        return connection.execute(query).fetchall()
