"""Journals of older versions are brought to this one, whole or not at all; those of newer ones are refused."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.base.errors import JournalError
from behavesim.state.events import NotAdded, RunStopped
from behavesim.store.codec import encode
from behavesim.store.damage import altered_rows
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.store.salvage import salvaged
from behavesim.store.schema import MIGRATIONS, OLDEST, UNSEALED, VERSION, Migration
from behavesim.store.upgrade import backup_of, copy_journal, upgrade, version_of

EVENTS = [NotAdded(number) for number in range(20)]


def add_a_column(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE events ADD COLUMN note TEXT")
    db.execute("UPDATE events SET note = 'old'")


def fail_half_way(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM events WHERE seq > 3")
    db.execute("SELECT no_such_column FROM events")


NEXT: tuple[Migration, ...] = (*MIGRATIONS, add_a_column)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal of this version, its last commits still in the write-ahead log."""

    async def written() -> None:
        async with SqliteJournal(tmp_path / "run.db") as opened:
            await opened.append(EVENTS)

    asyncio.run(written())
    return tmp_path / "run.db"


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return version_of(db)


def test_an_older_journal_is_upgraded_and_kept_as_it_was(journal: Path) -> None:
    upgrade(journal, NEXT)
    assert version(journal) == VERSION + 1
    with closing(sqlite3.connect(journal)) as db:
        assert db.execute("SELECT count(*) FROM events WHERE note = 'old'").fetchone() == (len(EVENTS),)
    assert [event for _, _, event in read_events(backup_of(journal, VERSION))] == EVENTS
    upgrade(journal, NEXT)
    assert version(journal) == VERSION + 1


def test_an_upgrade_that_fails_leaves_the_journal_as_it_was(journal: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no_such_column"):
        upgrade(journal, (*MIGRATIONS, add_a_column, fail_half_way))
    assert version(journal) == VERSION
    assert [event for _, _, event in read_events(journal)] == EVENTS


def test_a_newer_journal_is_refused(journal: Path) -> None:
    upgrade(journal, NEXT)
    for act in (upgrade, lambda path: list(read_events(path))):
        with pytest.raises(JournalError, match="newer behavesim"):
            act(journal)


def test_a_journal_from_before_requests_named_their_cost_is_refused(journal: Path) -> None:
    with closing(sqlite3.connect(journal)) as db:
        db.execute(f"PRAGMA user_version = {OLDEST - 1}")
        db.commit()
    for act in (upgrade, lambda path: list(read_events(path))):
        with pytest.raises(JournalError, match="older behavesim"):
            act(journal)


def test_a_new_journal_has_every_version_from_the_first(tmp_path: Path) -> None:
    upgrade(tmp_path / "run.db", NEXT)
    assert version(tmp_path / "run.db") == VERSION + 1
    assert not list(tmp_path.glob("*.version-*"))


def test_a_copy_is_whole(journal: Path, tmp_path: Path) -> None:
    copy_journal(journal, tmp_path / "copy.db")
    assert list(read_events(tmp_path / "copy.db")) == list(read_events(journal))


async def test_a_clock_that_jumps_changes_no_time_within_a_session(tmp_path: Path) -> None:
    wall, steady = iter([1_000.0, 500.0]), iter([10.0, 11.0, 14.0, 100.0, 100.0, 102.0])
    path = tmp_path / "run.db"
    for _ in range(2):
        journal = SqliteJournal(path, wall=lambda: next(wall), steady=lambda: next(steady))
        async with journal:
            await journal.append([RunStopped("a")])
            await journal.append([RunStopped("b")])
    assert [at for _, at, _ in read_events(path)] == [1001.0, 1004.0, 500.0, 502.0]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A journal of the oldest version that can be read, with a view of its time."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"{UNSEALED}; CREATE VIEW best AS SELECT 'old'; PRAGMA user_version = {OLDEST}")
        for event in EVENTS:
            row = (1.0, event.candidate, *encode(event))
            db.execute("INSERT INTO events (at, candidate, type, payload, data) VALUES (?, ?, ?, ?, ?)", row)
        db.commit()
    return path


def test_an_upgrade_gives_an_older_journal_the_views_of_today(old: Path) -> None:
    upgrade(old)
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("SELECT * FROM best").fetchall() == []
        assert db.execute("SELECT * FROM convergence").fetchall() == []


async def test_an_upgrade_seals_the_events_of_before(old: Path) -> None:
    found = salvaged(old)
    assert not found.proved
    assert [event for _, event in found.events.values()] == EVENTS
    async with SqliteJournal(old) as journal:
        await journal.append([RunStopped("now")])
    assert altered_rows(old) == []
    assert [event for _, _, event in read_events(old)] == [*EVENTS, RunStopped("now")]
    found = salvaged(old)
    assert found.proved
    assert [event for _, event in found.events.values()] == [*EVENTS, RunStopped("now")]
