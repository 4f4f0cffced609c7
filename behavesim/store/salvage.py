"""Events from a damaged journal: the pages of its files are read one by one, without SQLite.

A journal is append-only: every committed row is on a leaf page of the database or of its write-ahead log, and a row
that occurs in both is the same in both. A row counts only if its seal fits, so damage cannot invent an event. The
layout of pages, rows and log is SQLite's published file format (https://sqlite.org/fileformat2.html).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from behavesim.state.events import Event
from behavesim.store.codec import decode_whole
from behavesim.store.passages import is_passage
from behavesim.store.seal import is_sealed

LEAF = 13
"""The first byte of a page that holds rows of a table."""
WAL_HEADER, FRAME_HEADER = 32, 24
"""Lengths in bytes: of the header of a write-ahead log, and of the header before each of its pages."""
PAGE_SIZES = tuple(2**power for power in range(9, 16))
"""Page sizes in bytes that the database's header names by their value."""
USUAL_SIZE, LARGEST_SIZE = 4096, 65536
"""Page sizes in bytes: SQLite's default, used if the header is damaged; and the one that the header writes as 1."""

UNSEALED = 6
"""Number of columns of an event's row in journals before version 6; later rows have a seal as one more column."""

Value = int | float | str | bytes | None
"""The value of one column of a row."""
DAMAGED = (ValueError, IndexError, struct.error)
"""Exceptions that reading a damaged row raises."""


@dataclass(frozen=True)
class Salvaged:
    """The readable events of a damaged journal.

    `events` has (time of the commit in seconds since 1970, event) by event number, in order. `proved` is True if each
    row had a valid seal, and False for journals before version 6, which have no seals.
    """

    events: Mapping[int, tuple[float, Event]]
    proved: bool


def salvaged(path: Path) -> Salvaged:
    """Return the events that can still be read from a journal and its write-ahead log.

    If any row has a valid seal, only those rows count; otherwise all rows of the older form count. Damage raises
    nothing. Raises OSError if a file cannot be read.
    """
    rows = list(_rows(path))
    passages = {
        number: columns[-1] for number, columns in rows if len(columns) == 2 and is_passage(number, columns[-1])
    }
    sealed = [(seq, columns) for seq, columns in rows if _is_proved(seq, columns)]
    events: dict[int, tuple[float, Event]] = {}
    for seq, columns in sealed or (row for row in rows if len(row[1]) == UNSEALED):
        with suppress(*DAMAGED, TypeError):
            at, _, kind, payload, data = columns[1:6]
            events.setdefault(seq, (float(at), decode_whole(kind, payload, data, passages)))  # type: ignore[arg-type]
    return Salvaged(dict(sorted(events.items())), proved=bool(sealed))


def _is_proved(seq: int, columns: Sequence[Value]) -> bool:
    if len(columns) != UNSEALED + 1:
        return False
    _, at, *others, found = columns
    return is_sealed((seq, float(at) if isinstance(at, int) else at, *others), found)  # 1.0 is stored as 1


def _rows(path: Path) -> Iterator[tuple[int, list[Value]]]:
    """Yield (number, columns) of the readable rows of all tables; a row in both files comes twice."""
    for pages in _images(path):
        for page in pages[1:]:  # the first page holds only SQLite's list of tables
            for start in _cells(page):
                with suppress(*DAMAGED):
                    yield _row(page, start, pages)


def _images(path: Path) -> Iterator[list[bytes]]:
    """Yield the pages of the database's file, then the same pages with those of the write-ahead log in their places."""
    data = path.read_bytes()
    named = int.from_bytes(data[16:18], "big")
    size = named if named in PAGE_SIZES else LARGEST_SIZE if named == 1 else USUAL_SIZE
    pages = [data[start : start + size] for start in range(0, len(data), size)] or [b""]
    yield pages
    wal = path.with_name(f"{path.name}-wal")
    yield _overlaid(pages, wal.read_bytes() if wal.exists() else b"", size)


def _overlaid(pages: Sequence[bytes], log: bytes, size: int) -> list[bytes]:
    """Return the pages, replaced and extended by those of the log.

    Each frame of the log has a salt; frames with another salt than the first are left over from an earlier log.
    """
    overlaid = list(pages)
    frames = [log[start : start + FRAME_HEADER + size] for start in range(WAL_HEADER, len(log), FRAME_HEADER + size)]
    for frame in frames:
        number = int.from_bytes(frame[:4], "big")
        if frame[8:16] == frames[0][8:16] and 0 < number <= len(pages) + len(frames):
            overlaid += [b""] * (number - len(overlaid))
            overlaid[number - 1] = frame[FRAME_HEADER:]
    return overlaid


def _cells(page: bytes) -> Iterator[int]:
    """Yield the positions in a page at which its rows begin; nothing if it holds no rows of a table."""
    if len(page) < 8 or page[0] != LEAF:
        return
    count = int.from_bytes(page[3:5], "big")
    for place in range(8, min(8 + 2 * count, len(page) - 1), 2):
        yield int.from_bytes(page[place : place + 2], "big")


def _row(page: bytes, start: int, pages: Sequence[bytes]) -> tuple[int, list[Value]]:
    """Return the number and the columns of the row that begins at `start`; raises one of DAMAGED if there is none.

    A long row continues on overflow pages, each of which begins with the number of the next one.
    """
    length, start = _varint(page, start)
    if length > len(pages) * len(page):
        raise ValueError("the row is longer than the file")  # the loop below must end if damaged pages form a ring
    seq, start = _varint(page, start)
    size = len(pages[0])
    local = _local(length, size)
    record = page[start : start + local]
    following = int.from_bytes(page[start + local : start + local + 4], "big") if local < length else 0
    while len(record) < length:
        overflow = pages[following - 1] if following else b""
        if len(overflow) < size:
            raise ValueError("the rest of the row is missing")
        record += overflow[4 : 4 + length - len(record)]
        following = int.from_bytes(overflow[:4], "big")
    return seq, _columns(record)


def _local(length: int, size: int) -> int:
    """Return how many bytes of a row of that length are on its own page; the rest is on overflow pages."""
    most = size - 35
    if length <= most:
        return length
    least = (size - 12) * 32 // 255 - 23
    kept = least + (length - least) % (size - 4)
    return kept if kept <= most else least


def _columns(record: bytes) -> list[Value]:
    end, place = _varint(record, 0)
    kinds = []
    while place < end:
        kind, place = _varint(record, place)
        kinds.append(kind)
    values = []
    for kind in kinds:
        size = _width(kind)
        if place + size > len(record):
            raise ValueError("a column is cut off")
        values.append(_value(kind, record[place : place + size]))
        place += size
    return values


def _width(kind: int) -> int:
    """Return the bytes of a value of SQLite's serial type `kind`; raises IndexError for the unused 10 and 11."""
    return (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)[kind]


def _value(kind: int, data: bytes) -> Value:
    if kind >= 12:
        return data.decode() if kind % 2 else data
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind in (0, 8, 9):
        return (None, 0, 1)[max(0, kind - 7)]
    return int.from_bytes(data, "big", signed=True)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return the number at `place` and the position after it; the number has one to nine bytes.

    Each byte holds seven bits, and the ninth holds eight. Raises IndexError if the data end before the number does.
    """
    value = 0
    for count in range(9):
        byte = data[place + count]
        if count == 8:
            return value << 8 | byte, place + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + count + 1
    raise AssertionError("the ninth byte ends it")
