"""The log of a journal reaches the disk and the database, and no commit waits for that; who holds it is named."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.base.errors import JournalError
from behavesim.state.events import RunStopped
from behavesim.store import journal as wal
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events

LIMIT = 200_000


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal, "FLUSH_S", 0.0)


async def append_until(journal: SqliteJournal, is_done: Callable[[], bool], at_most: int = 2000) -> int:
    """Append events one by one, and let others have their turn; returns how many there were."""
    for count in range(at_most):
        if is_done():
            return count
        await journal.append([RunStopped("x" * 4000)])
        await asyncio.sleep(0.002)
    return at_most


def never() -> bool:
    return False


async def test_no_commit_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, done, sync = threading.Event(), threading.Event(), os.fsync

    def slow(file: int) -> None:
        waiting.set()
        done.wait(60)
        sync(file)

    monkeypatch.setattr(os, "fsync", slow)
    async with SqliteJournal(tmp_path / "run.db") as journal:
        first = await append_until(journal, waiting.is_set)
        assert waiting.is_set()
        later = await append_until(journal, never, at_most=20)
        assert sum(1 for _ in read_events(tmp_path / "run.db")) == first + later
        assert not done.is_set()
        done.set()


async def test_what_the_disk_did_not_take_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match="make room on the disk"):
        async with SqliteJournal(tmp_path / "run.db") as journal:
            await append_until(journal, never)


@pytest.fixture
def in_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal, "FLUSH_S", 3600.0)


@pytest.mark.usefixtures("in_an_hour")
async def test_the_last_commits_are_on_the_disk_though_another_process_has_the_journal_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sync, synced = tmp_path / "run.db", os.fsync, list[int]()

    def watched(file: int) -> None:
        synced.append(os.fstat(file).st_size)
        sync(file)

    monkeypatch.setattr(os, "fsync", watched)
    async with SqliteJournal(path):
        pass
    with closing(sqlite3.connect(path)) as reader:
        async with SqliteJournal(path) as journal:
            await append_until(journal, never, at_most=3)
            reader.execute("SELECT count(*) FROM events").fetchone()
        assert synced == [path.with_name("run.db-wal").stat().st_size]


@pytest.mark.usefixtures("in_an_hour")
async def test_what_the_disk_does_not_take_in_the_end_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(JournalError, match="Input/output error"):
        async with SqliteJournal(tmp_path / "run.db") as journal:
            await journal.append([RunStopped("budget")])


async def test_a_folder_that_is_moved_under_a_journal_is_an_error_and_not_a_loss(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()

    async def move_the_folder() -> None:
        async with SqliteJournal(tmp_path / "here/run.db") as journal:
            await append_until(journal, never, at_most=3)
            (tmp_path / "here").rename(tmp_path / "there")
            await append_until(journal, never)

    with pytest.raises(JournalError, match="moved, or emptied"):
        await move_the_folder()
    assert sum(1 for _ in read_events(tmp_path / "there/run.db")) > 3


async def test_a_long_log_is_moved_into_the_database_and_begun_anew(tmp_path: Path) -> None:
    path, notes = tmp_path / "run.db", list[str]()
    log = tmp_path / "run.db-wal"
    async with SqliteJournal(path, notes=notes.append, log_bytes=LIMIT) as journal:
        count = await append_until(journal, lambda: log.exists() and path.stat().st_size > 2 * log.stat().st_size)
        assert count < 2000, "most of it is in the database, and the log is used again"
    assert sum(1 for _ in read_events(path)) == count


async def test_a_log_that_a_reader_holds_is_named_once_and_emptied_when_the_reader_ends(tmp_path: Path) -> None:
    path, notes = tmp_path / "run.db", list[str]()
    log = tmp_path / "run.db-wal"
    async with SqliteJournal(path, notes=notes.append, log_bytes=LIMIT) as journal:
        count = await append_until(journal, never, at_most=20)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM events").fetchone()
            count += await append_until(journal, lambda: len(notes) > 0)
            count += await append_until(journal, never, at_most=50)
            assert log.stat().st_size > 2 * LIMIT
        assert len(notes) == 1
        assert re.match(rf"{re.escape(str(log))} has grown to \d MB and .* another process .*fuser {path}", notes[0])
        count += await append_until(journal, lambda: len(notes) > 1)
        assert notes[1:] == [f"{log} has been emptied: nobody holds it any more"]
    assert sum(1 for _ in read_events(path)) == count
