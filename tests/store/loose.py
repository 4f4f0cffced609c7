"""Journals into whose columns anything goes, though their table still says that it is strict: as damage leaves them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from behavesim.store.database import EVENTS


@contextmanager
def anything_goes(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a journal that takes any value in any column."""
    with closing(sqlite3.connect(path)) as db:
        _say(db, EVENTS.removesuffix("STRICT"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA synchronous = OFF")
        yield db
        _say(db, EVENTS)


def _say(db: sqlite3.Connection, sql: str) -> None:
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'events'", (sql,))
    db.commit()
