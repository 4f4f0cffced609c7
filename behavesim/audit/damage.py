"""Damaged journals: what is wrong with a file, and the events that can still be read of it, page by page.

SQLite alone reads nothing of a file whose header or root page is lost. In 60 random damages of a run of 30 replies it
found 8 replies on average, and none in 41 of them; page by page 15 were found, and none in 7.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from behavesim.base.text import one_line
from behavesim.state.events import CandidateId, Event, RunStarted
from behavesim.store.codec import decode_whole, is_sealed
from behavesim.store.database import (
    UNREADABLE,
    check_time,
    holds_events,
    is_journal,
    open_database,
    open_unchecked,
    refuse_missing,
    says_damage,
    translate_errors,
)
from behavesim.store.journal import PAGE_BYTES


def list_damages(path: Path) -> list[str]:
    """Return one line for each damage of a journal, at most 20 of what SQLite finds; [] if the journal is whole.

    Raises JournalError if there is no file at `path`, if it was written by an older or newer behavesim, or if SQLite
    cannot open it for another reason than its bytes.
    """
    refuse_missing(path)
    found: list[str] = []
    try:
        with closing(open_unchecked(path)) as db:
            [(version,)] = db.execute("PRAGMA user_version")
            is_journal(path, version)  # raises for another version; in a damaged file it may be 0
            if not holds_events(db):
                return ["its table of events is not that of a run"]
            said = (line for (text,) in db.execute("PRAGMA integrity_check(20)") for line in text.splitlines())
            found += (one_line(f"SQLite: {line}") for line in said if line != "ok")
            found += _unreadable(db)  # also where SQLite found damage: it may have spared most events
    except UNREADABLE as error:
        if not says_damage(error):
            with translate_errors(path):
                raise
        found.append(one_line(f"SQLite: {error}"))
    return found


def _unreadable(db: sqlite3.Connection) -> Iterator[str]:
    """Yield a line for each undecodable event or gap in the numbers, for a wrong first event, or for no event."""
    expected = 1
    for seq, at, kind, payload, data in db.execute("SELECT seq, at, type, payload, data FROM events ORDER BY seq"):
        if seq != expected:
            yield f"events {expected} to {seq - 1} are missing"
        elif seq == 1 and kind != RunStarted.__name__:
            yield "event 1 is not the beginning of a run"
        try:
            check_time(at)
            decode_whole(kind, payload, data)
        except ValueError as error:
            yield one_line(f"event {seq} ({kind}) cannot be read: {error}")
        expected = seq + 1
    if expected == 1:
        yield "there is no event"


def find_altered_rows(path: Path) -> list[tuple[int, str, CandidateId | None]]:
    """Return the number, type and candidate of each event whose seal does not fit: another program wrote it."""
    with open_database(path) as db:
        rows = db.execute("SELECT seq, at, candidate, type, payload, data, seal FROM events ORDER BY seq")
        return [(row[0], row[3], row[2]) for *row, found in rows if not is_sealed(tuple(row), found)]


def read_damaged(path: Path) -> dict[int, tuple[float, Event]]:
    """Return what can still be read of a journal and its log: by event number the time of the commit and the event."""
    # A journal is append-only. So every committed row is on a leaf page of the database or of its write-ahead log, and
    # a row that occurs in both is the same in both. A row counts only if its seal fits, so damage cannot invent an
    # event. The layout of the files is SQLite's published file format (https://sqlite.org/fileformat2.html). Rows are
    # read both with and without the log: a damaged page in it must not hide a sound one in the database.
    rows = [row for pages in _images(path) for row in _rows(pages) if is_sealed(row[:-1], row[-1])]
    events: dict[int, tuple[float, Event]] = {}
    for seq, at, _, kind, payload, data, _ in rows:
        with suppress(ValueError):  # anybody can seal a row
            events.setdefault(seq, (at, decode_whole(kind, payload, data)))
    return dict(sorted(events.items()))


# Lengths in bytes: of the header of a write-ahead log, and of the header before each of its pages.
WAL_HEADER, FRAME_HEADER = 32, 24
# Page sizes in bytes, by the number that stands for each in the database's header.
PAGE_SIZES = {2**power: 2**power for power in range(9, 16)} | {1: 65536}


def _images(path: Path) -> Iterator[list[bytes]]:
    """Yield the pages of the database's file; then, if there is a write-ahead log, the pages changed by that log."""
    data = path.read_bytes()
    size = PAGE_SIZES.get(int.from_bytes(data[16:18], "big"), PAGE_BYTES)  # the usual size if the header is damaged
    pages = [data[start : start + size].ljust(size, b"\0") for start in range(0, len(data), size)]
    yield pages
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists():
        yield _overlaid(pages, wal.read_bytes(), size)


def _overlaid(pages: Sequence[bytes], log: bytes, size: int) -> list[bytes]:
    """Return the pages, replaced and extended by those of the log."""
    # SQLite begins a log anew in the same file: frames with another salt than the first are left over from an earlier
    # log, and would bring back pages of an older state.
    overlaid = list(pages)
    frames = [log[start : start + FRAME_HEADER + size] for start in range(WAL_HEADER, len(log), FRAME_HEADER + size)]
    for frame in frames:
        number = int.from_bytes(frame[:4], "big")
        if frame[8:16] == frames[0][8:16] and 0 < number <= len(pages) + len(frames):
            overlaid += [bytes(size)] * (number - len(overlaid))
            overlaid[number - 1] = frame[FRAME_HEADER:].ljust(size, b"\0")
    return overlaid


# The first byte of a page that holds rows of a table.
LEAF = b"\x0d"
# A table that reads the rows of `events`, whatever is in their columns.
_TABLE = "CREATE TABLE leaf (seq INTEGER PRIMARY KEY, at REAL, candidate, type, payload, data, seal)"
# Makes one page the whole table, so that no other page of the tree is needed to read its rows.
_ROOT = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = {}; PRAGMA writable_schema = RESET"


def _rows(pages: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
    """Yield each readable row of all tables as seven values, the columns of `_TABLE`; what is damaged is left out."""
    if not pages:
        return
    size = len(pages[0])
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(f"PRAGMA page_size = {size}; {_TABLE}")
        first = bytearray(db.serialize()[:size])  # a sound header and list of tables: those of the file may be damaged
        first[28:32] = len(pages).to_bytes(4, "big")  # the size of the database in pages; SQLite reads none beyond it
        db.deserialize(first + b"".join(islice(pages, 1, None)))
        for number, page in enumerate(pages, 1):
            if number > 1 and page.startswith(LEAF):  # page 1 holds SQLite's own list of tables
                db.executescript(_ROOT.format(number))
                yield from _rows_of_leaf(db)


def _rows_of_leaf(db: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """Yield the readable rows of the page that is the whole table at present; damage raises nothing."""
    with suppress(sqlite3.DatabaseError):
        [(count,)] = db.execute("SELECT count(*) FROM leaf")
        for place in range(count):
            with suppress(sqlite3.DatabaseError):  # one query for each row: a damaged row would end a query for all
                yield from db.execute("SELECT * FROM leaf LIMIT 1 OFFSET ?", (place,)).fetchall()
