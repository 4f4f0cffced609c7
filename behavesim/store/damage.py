"""Checks of a journal's file: what SQLite reports, missing or unreadable events, and rows that were altered."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from behavesim.base.text import one_line
from behavesim.state.events import CandidateId, RunStarted
from behavesim.store.codec import decode_whole, is_sealed
from behavesim.store.database import UNREADABLE, check_time, connected, holds_events, is_journal, opened, refuse_missing
from behavesim.store.passages import Passages


def damages(path: Path) -> list[str]:
    """Return one line for each damage found in a journal; an empty list if the journal is whole.

    Of what SQLite finds at most 20 are listed. Raises JournalError if there is no file at `path`, or if it was written
    by an older or newer behavesim.
    """
    refuse_missing(path)
    found: list[str] = []
    try:
        with closing(connected(path)) as db:
            [(version,)] = db.execute("PRAGMA user_version")
            is_journal(path, version)  # raises for another version; in a damaged file it may be 0
            if not holds_events(db):
                return ["its table of events is not that of a run"]
            said = (line for (text,) in db.execute("PRAGMA integrity_check(20)") for line in text.splitlines())
            found += (one_line(f"SQLite: {line}") for line in said if line != "ok")
            found += _unreadable(db)  # also where SQLite found damage: it may have spared most events
    except UNREADABLE as error:
        found.append(one_line(f"SQLite: {error}"))
    return found


def altered_rows(path: Path) -> list[tuple[int, str, CandidateId | None]]:
    """Return the number, type and candidate of each event whose seal does not fit its columns, in order.

    Another program added or changed such a row. The candidate is None for events of the run as a whole.
    Raises JournalError if the journal cannot be read.
    """
    with opened(path) as db:
        rows = db.execute("SELECT seq, at, candidate, type, payload, data, seal FROM events ORDER BY seq")
        return [(row[0], row[3], row[2]) for *row, found in rows if not is_sealed(tuple(row), found)]


def _unreadable(db: sqlite3.Connection) -> Iterator[str]:
    """Yield one line for each undecodable event or gap in the numbers, for a wrong first event, or for no event."""
    expected, passages = 1, Passages(db)
    for seq, at, kind, payload, data in db.execute("SELECT seq, at, type, payload, data FROM events ORDER BY seq"):
        if seq != expected:
            yield f"events {expected} to {seq - 1} are missing"
        elif seq == 1 and kind != RunStarted.__name__:
            yield "event 1 is not the beginning of a run"
        try:
            check_time(at)
            decode_whole(kind, payload, data, passages)
        except ValueError as error:
            yield one_line(f"event {seq} ({kind}) cannot be read: {error}")
        expected = seq + 1
    if expected == 1:
        yield "there is no event"
