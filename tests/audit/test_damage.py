"""What is wrong with a journal is said line by line."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from behavesim.audit.damage import list_damages
from behavesim.base.errors import JournalError
from tests.store.loose import anything_goes
from tests.store.test_journal import EVENTS
from tests.store.written import written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "run.db", EVENTS)


def test_a_whole_journal_has_no_damage(path: Path) -> None:
    assert list_damages(path) == []


@pytest.mark.parametrize(
    ("statements", "lines"),
    [
        (["DELETE FROM events WHERE seq IN (5, 6, 8)"], ["events 5 to 6 are missing", "events 8 to 8 are missing"]),
        (["DELETE FROM events WHERE seq = 1"], ["events 1 to 1 are missing"]),
        (["DELETE FROM events"], ["there is no event"]),
        (["UPDATE events SET seq = 99 WHERE seq = 1", "UPDATE events SET seq = 1 WHERE seq = 2"], None),
    ],
)
def test_events_that_are_missing_are_named(path: Path, statements: list[str], lines: list[str] | None) -> None:
    with anything_goes(path) as db:
        for statement in statements:
            db.execute(statement)
    expected = ["event 1 is not the beginning of a run", "events 2 to 2 are missing", "events 22 to 98 are missing"]
    assert list_damages(path) == (expected if lines is None else lines)


def test_events_that_make_no_sense_are_all_named(path: Path) -> None:
    with anything_goes(path) as db:
        db.execute("UPDATE events SET type = 'Odd' WHERE seq = 3")
        db.execute("UPDATE events SET at = -1.0 WHERE seq = 5")
    assert list_damages(path) == [
        "event 3 (Odd) cannot be read: there is no event of type 'Odd'",
        "event 5 (Asked) cannot be read: its time is -1.0",
    ]


def test_a_page_of_garbage_is_named_by_sqlite(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\xff" * 4096
    path.write_bytes(data)
    lines = list_damages(path)
    assert lines
    assert all(line.startswith("SQLite: ") and line.isprintable() for line in lines)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.unlink(), "there is no journal at"),
        (lambda path: (path.unlink(), path.mkdir()), "there is no journal at"),
    ],
)
def test_what_is_not_there_has_no_damage_to_name(path: Path, spoil: Callable[[Path], object], said: str) -> None:
    spoil(path)
    with pytest.raises(JournalError, match=said):
        list_damages(path)


def test_a_full_disk_is_no_damage(path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # no file can grow, as those that SQLite makes must
    try:
        with pytest.raises(JournalError, match="disk I/O error; make room on the disk"):
            list_damages(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
