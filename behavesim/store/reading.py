"""A run's journal, as those read it who do not write it: read-only, at any time, while the run goes on or later."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from behavesim.errors import JournalError
from behavesim.events import (
    Asked,
    CandidateId,
    Evaluated,
    Event,
    Prompt,
    Rejected,
    Reply,
    Responded,
)
from behavesim.store.codec import NAMES, NO_PASSAGES, check_time, decode
from behavesim.store.passages import Passages
from behavesim.store.schema import VERSION, holds_events
from behavesim.store.upgrade import refuse_foreign, upgrade, version_of
from behavesim.text import one_line
from behavesim.trajectory import Behaviour

_READ = "SELECT seq, at, type, payload, data FROM events WHERE seq > ? ORDER BY seq"
OUTCOME = """
SELECT seq, type, payload, data FROM events
WHERE candidate = ? AND type IN ('Evaluated', 'Rejected') AND payload ->> 'program_hash' = ?
"""
"""What became of a candidate's program of some hash."""

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What SQLite raises for a damaged file; its own words may then be no UTF-8."""


def read_events(
    path: Path, after: int = 0, only: Sequence[type] = ()
) -> Generator[tuple[int, float, Event], None, None]:
    """The events of a journal for a reader that is not the run itself: sequence number, time, event.

    `after` is the last number that is known already; `only` some types, where not all are wanted.
    """
    query = _READ
    if only:
        query = _READ.replace("WHERE", f"WHERE type IN ({', '.join(repr(NAMES[kind]) for kind in only)}) AND")
        if not any(field.name == "candidate" for kind in only for field in fields(kind)):  # which the index finds
            query = query.replace("WHERE", "WHERE candidate IS NULL AND")
    with translated(path), closing(open_to_read(path)) as connection:
        passages = Passages(connection)
        for expected, (seq, at, kind, payload, data) in enumerate(connection.execute(query, (after,)), after + 1):
            if seq != expected and not only:
                missing = f"{path}: events {expected} to {seq - 1} are missing"
                raise JournalError(f"{missing}; the file is damaged, `behavesim verify` says where")
            try:
                time, event = check_time(at), decode(kind, payload, data, passages)
            except ValueError as error:
                raise _unreadable(path, seq, error) from error
            yield seq, time, event


def count_registered(path: Path) -> int:
    """How many candidates are registered."""
    with translated(path), closing(open_to_read(path)) as connection:
        query = "SELECT count(*) FROM events WHERE type IN ('Added', 'NotAdded')"
        return int(connection.execute(query).fetchone()[0])


def first_time(path: Path) -> float | None:
    """The time of the first event; None where there is none."""
    with translated(path), closing(open_to_read(path)) as connection:
        row = connection.execute("SELECT seq, at FROM events ORDER BY seq LIMIT 1").fetchone()
    return None if row is None else _time(path, *row)


def last_event(path: Path) -> int:
    """The number of the last event; 0 where there is none."""
    with translated(path), closing(open_to_read(path)) as connection:
        return int(connection.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])


def check_is_current(path: Path) -> None:
    """Raise JournalError where a journal cannot be read as it is: there is none, or it is of another version."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")
    with translated(path), closing(connected(path)) as connection:
        version = version_of(connection)
    if version != VERSION:
        refuse_foreign(path, version, VERSION)
        raise JournalError(f"{path} was written by an older behavesim; `behavesim report` brings it up to date")


def read_outcome(path: Path, candidate: CandidateId, program_hash: str) -> Evaluated | Rejected:
    """What became of a candidate's program of that hash; raises JournalError where nothing did."""
    with translated(path), closing(open_to_read(path)) as connection:
        row = connection.execute(OUTCOME, (candidate, program_hash)).fetchone()
    if row is None:
        raise JournalError(f"{path}: nothing became of a program of candidate {candidate} with hash {program_hash}")
    event = event_of(path, row)
    assert isinstance(event, Evaluated | Rejected)
    return event


def read_reply(path: Path, candidate: CandidateId) -> Reply | None:
    """The last reply that a candidate had; None where it had none."""
    event = _last(path, candidate, Responded)
    return event.reply if isinstance(event, Responded) else None


def read_prompt(path: Path, candidate: CandidateId) -> Prompt | None:
    """What was asked for a candidate when it was last asked for; None where it was not."""
    event = _last(path, candidate, Asked)
    return event.prompt if isinstance(event, Asked) else None


def read_trajectories(path: Path, candidates: Sequence[CandidateId]) -> list[Behaviour]:
    """The trajectories of some feasible candidates, in the order asked for."""
    query = "SELECT data FROM events WHERE candidate = ? AND type = 'Evaluated'"
    with translated(path), closing(open_to_read(path)) as connection:
        try:
            return [
                Behaviour(*connection.execute(query, (candidate,)).fetchone() or (None,)) for candidate in candidates
            ]
        except ValueError as error:
            raise JournalError(f"{path}: a program's behaviour cannot be read: {error}") from error


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


def _last(path: Path, candidate: CandidateId, kind: type) -> Event | None:
    """The last event of a type that a candidate has; None where it has none."""
    query = "SELECT seq, type, payload, data FROM events WHERE candidate = ? AND type = ? ORDER BY seq DESC"
    with translated(path), closing(open_to_read(path)) as connection:
        row = connection.execute(query, (candidate, NAMES[kind])).fetchone()
        return None if row is None else event_of(path, row, Passages(connection))


def event_of(path: Path, row: Sequence[Any], passages: Mapping[int, str] = NO_PASSAGES) -> Event:
    """The event of a row of journal `path`: its number, type, payload and blob.

    Raises JournalError, which names the number, where the row holds none.
    """
    seq, kind, payload, data = row
    try:
        return decode(kind, payload, data, passages)
    except ValueError as error:
        raise _unreadable(path, seq, error) from error


def _time(path: Path, seq: int, at: object) -> float:
    try:
        return check_time(at)
    except ValueError as error:
        raise _unreadable(path, seq, error) from error


def _unreadable(path: Path, seq: int, error: ValueError) -> JournalError:
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
