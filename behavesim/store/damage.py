"""What is wrong with a journal's file, as far as SQLite and the events themselves can tell."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from behavesim.errors import JournalError
from behavesim.store.codec import decode
from behavesim.store.journal import connected
from behavesim.store.schema import VERSION
from behavesim.store.upgrade import refuse_foreign, version_of


def damages(path: Path) -> list[str]:
    """A line for each thing that is damaged; none where the journal is whole.

    Raises JournalError where there is no journal, or one that a newer behavesim wrote.
    """
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")
    found: list[str] = []
    try:
        with closing(connected(path)) as db:
            refuse_foreign(path, version_of(db), VERSION)
            found += (f"SQLite: {line}" for (line,) in db.execute("PRAGMA integrity_check(20)") if line != "ok")
            found += _unreadable(db)
    except sqlite3.DatabaseError as error:
        found.append(f"SQLite: {error}")
    return found


def _unreadable(db: sqlite3.Connection) -> Iterator[str]:
    """The events that are missing, or are there and make no sense."""
    expected = 1
    for seq, kind, payload, data in db.execute("SELECT seq, type, payload, data FROM events ORDER BY seq"):
        if seq != expected:
            yield f"events {expected} to {seq - 1} are missing"
        try:
            decode(kind, payload, data)
        except ValueError as error:
            yield f"event {seq} ({kind}) cannot be read: {str(error).splitlines()[0]}"
        expected = seq + 1
    if expected == 1:
        yield "there is no event"
