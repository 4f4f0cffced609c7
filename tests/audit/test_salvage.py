"""Whatever row SQLite has written, its event is read from the pages alone, and damage costs what it hit."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.audit.damage import read_damaged
from behavesim.state.events import Event, NotAdded, RunStopped
from behavesim.store.codec import seal
from behavesim.store.database import TABLES
from behavesim.store.reading import read_events
from tests.store.test_journal import EVENTS
from tests.store.written import written

PAGE = 4096


def texts(*lengths: int) -> list[Event]:
    return [RunStopped("x" * length) for length in lengths]


def known(path: Path) -> dict[int, tuple[float, Event]]:
    """What SQLite itself reads."""
    return {seq: (at, event) for seq, at, event in read_events(path)}


def seal_all(db: sqlite3.Connection, where: str = "true") -> None:
    """Seal rows that were written, or changed, by hand."""
    db.create_function("seal", 6, seal)
    db.execute(f"UPDATE events SET seal = seal(seq, at, candidate, type, payload, data) WHERE {where}")


@pytest.mark.parametrize("killed", [True, False])
def test_every_event_is_found_in_the_database_or_in_its_log(tmp_path: Path, killed: bool) -> None:
    path = written(tmp_path / "run.db", EVENTS, killed=killed)
    found = read_damaged(path)
    assert [event for _, event in found.values()] == EVENTS
    assert found == known(path)
    assert list(found) == list(range(1, len(EVENTS) + 1))


def test_rows_of_every_length_are_found(tmp_path: Path) -> None:
    # on one page, on the first of a second, on several; kept short where the rest would begin with a few bytes
    lengths = [*range(0, 200, 7), *range(3980, 4080), *range(4400, 4600, 9), *range(8000, 8200, 7), 50_000]
    path = written(tmp_path / "run.db", texts(*lengths))
    assert [len(event.reason) for _, event in read_damaged(path).values()] == lengths  # type: ignore[union-attr]


def test_numbers_of_every_width_are_found(tmp_path: Path) -> None:
    # SQLite stores a time without a fraction as the narrowest integer that holds it
    seconds = [0.0, 1.0, 2.0, 127.0, 128.0, 32767.0, 32768.0, 2.0**23 - 1, 2.0**23, 2.0**31 - 1, 2.0**31, 2.0**37, 0.5]
    path = written(tmp_path / "run.db", map(NotAdded, range(13)), seconds)
    assert [at for at, _ in read_damaged(path).values()] == seconds
    candidates = [-(2**62), -129, -1, 0, 1, 200, 2**15, 2**23, 2**31, 2**47, 2**62]
    path = written(tmp_path / "other.db", map(NotAdded, candidates))
    assert [event.candidate for _, event in read_damaged(path).values()] == candidates  # type: ignore[union-attr]


def test_events_of_large_numbers_are_found(tmp_path: Path) -> None:
    path = written(tmp_path / "run.db", map(NotAdded, range(9)))
    numbers = [1, 2, 127, 128, 16383, 16384, 2**40, 2**55, 2**56]
    with closing(sqlite3.connect(path)) as db:
        for old, new in reversed(list(enumerate(numbers, 1))):
            db.execute("UPDATE events SET seq = ? WHERE seq = ?", (new, old))
        seal_all(db)
        db.commit()
    assert list(read_damaged(path)) == numbers


@pytest.mark.parametrize("size", [512, 1024, 65536])
def test_pages_of_another_size_are_read(tmp_path: Path, size: int) -> None:
    source = written(tmp_path / "run.db", [*EVENTS, *texts(3000)])
    with closing(sqlite3.connect(tmp_path / "other.db", isolation_level=None)) as db:
        db.execute(f"PRAGMA page_size = {size}")
        db.executescript(TABLES)
        db.execute("ATTACH ? AS source", (str(source),))
        db.execute("INSERT INTO events SELECT * FROM source.events")
    assert read_damaged(tmp_path / "other.db") == known(source)


def test_what_an_earlier_round_of_the_log_left_behind_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "alive.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(TABLES)
        add = "INSERT INTO events (at, type, payload) VALUES (1.0, 'RunStopped', json_object('reason', ?))"
        for _ in range(30):
            db.execute(add, ("old" * 300,))
        db.execute("PRAGMA wal_checkpoint(RESTART)")
        seal_all(db)
        db.execute("PRAGMA wal_checkpoint(RESTART)")
        db.execute("UPDATE events SET payload = json_object('reason', 'new' || seq) WHERE seq <= 4")
        seal_all(db, "seq <= 4")
        for copied in ("run.db", "run.db-wal"):
            (tmp_path / copied).write_bytes((tmp_path / copied.replace("run", "alive")).read_bytes())
    overlaid = read_damaged(tmp_path / "run.db")
    assert len(overlaid) == 30
    (tmp_path / "run.db").write_bytes(b"\0" * PAGE * 2)  # all that is left is in the log
    left = read_damaged(tmp_path / "run.db")
    assert left
    assert {event.reason for seq, (_, event) in left.items() if seq <= 4} == {f"new{seq}" for seq in range(1, 5)}  # type: ignore[union-attr]


@pytest.mark.parametrize("page", range(2, 8))
def test_a_page_that_is_lost_costs_the_events_on_it_alone(tmp_path: Path, page: int) -> None:
    path = written(tmp_path / "run.db", texts(*[900] * 30))
    whole, data = known(path), bytearray(path.read_bytes())
    data[page * PAGE : (page + 1) * PAGE] = b"\xff" * PAGE
    path.write_bytes(data)
    left = read_damaged(path)
    assert len(whole) - 4 <= len(left)
    assert left.items() <= whole.items()


@pytest.mark.parametrize("end", [0, 50, PAGE, PAGE + 7, 8 * PAGE, 8 * PAGE + 100])
def test_a_file_that_is_cut_off_keeps_what_stands_before_the_cut(tmp_path: Path, end: int) -> None:
    path = written(tmp_path / "run.db", texts(*[900] * 30, 9000))
    whole = known(path)
    path.write_bytes(path.read_bytes()[:end])
    left = read_damaged(path)
    assert left.items() <= whole.items()
    assert (len(left) > 0) == (end >= 8 * PAGE)


def test_a_header_that_is_lost_costs_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "run.db", EVENTS)
    data = bytearray(path.read_bytes())
    data[:100] = b"\0" * 100
    path.write_bytes(data)
    assert [event for _, event in read_damaged(path).values()] == EVENTS
