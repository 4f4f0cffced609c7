"""Journals of other versions are refused in one line and left as they are; a copy is whole; clocks may jump."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.audit.damage import list_damages
from behavesim.base.errors import JournalError
from behavesim.state.events import NotAdded, RunStopped
from behavesim.store.database import VERSION, copy_journal
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events

EVENTS = [NotAdded(number) for number in range(20)]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal of this version."""

    async def written() -> None:
        async with SqliteJournal(tmp_path / "run.db") as opened:
            await opened.append(EVENTS)

    asyncio.run(written())
    return tmp_path / "run.db"


@pytest.mark.parametrize(("version", "whose"), [(VERSION - 1, "an older"), (VERSION + 1, "a newer"), (-1, "an older")])
async def test_a_journal_of_another_version_is_refused_and_left_as_it_is(
    journal: Path, version: int, whose: str
) -> None:
    with closing(sqlite3.connect(journal)) as db:
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    before = journal.read_bytes()
    for act in (list_damages, lambda path: list(read_events(path))):
        with pytest.raises(JournalError, match=f"{whose} behavesim \\(schema {version}, this one reads {VERSION}\\); "):
            act(journal)
    with pytest.raises(JournalError, match=f"{whose} behavesim"):
        async with SqliteJournal(journal):
            pass
    assert journal.read_bytes() == before


async def test_an_empty_file_becomes_a_journal(tmp_path: Path) -> None:
    (tmp_path / "run.db").touch()
    async with SqliteJournal(tmp_path / "run.db") as journal:
        await journal.append(EVENTS)
    assert [event for _, _, event in read_events(tmp_path / "run.db")] == EVENTS


async def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE songs (title TEXT)")
    before = path.read_bytes()
    with pytest.raises(JournalError, match="is another program's database"):
        async with SqliteJournal(path):
            pass
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.db"]


def test_a_copy_is_whole(journal: Path, tmp_path: Path) -> None:
    copy_journal(journal, tmp_path / "copy.db")
    assert list(read_events(tmp_path / "copy.db")) == list(read_events(journal))


def test_a_copy_that_fails_is_an_error_of_one_line(journal: Path, tmp_path: Path) -> None:
    journal.write_bytes(b"x" * 4096)
    with pytest.raises(JournalError, match=r"run\.db: file is not a database; the file is damaged"):
        copy_journal(journal, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


async def test_a_clock_that_jumps_changes_no_time_within_a_session(tmp_path: Path) -> None:
    wall, steady = iter([1_000.0, 500.0]), iter([10.0, 11.0, 14.0, 100.0, 100.0, 102.0])
    path = tmp_path / "run.db"
    for _ in range(2):
        journal = SqliteJournal(path, wall=lambda: next(wall), steady=lambda: next(steady))
        async with journal:
            await journal.append([RunStopped("a")])
            await journal.append([RunStopped("b")])
    assert [at for _, at, _ in read_events(path)] == [1001.0, 1004.0, 500.0, 502.0]
