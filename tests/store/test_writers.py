"""A journal has one writer, also where the lock of its run does nothing. A run is read by its owner alone."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.audit.damage import find_altered_rows
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError
from behavesim.state.events import Event, NotAdded, RunStopped
from behavesim.store.database import copy_journal
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events


def known(path: Path) -> list[Event]:
    return [event for _, _, event in read_events(path)]


async def test_of_two_that_write_one_journal_the_second_to_append_is_refused_and_loses_nothing_of_the_first(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.db"
    async with SqliteJournal(path) as first:
        await first.append([NotAdded(0)])
        async with SqliteJournal(path) as second:
            await second.append([NotAdded(3)])
            for _ in range(2):
                with pytest.raises(JournalError, match=r"another process writes this journal.*then resume the run"):
                    await first.append([NotAdded(1), NotAdded(2)])
            await second.append([NotAdded(4)])
    assert known(path) == [NotAdded(0), NotAdded(3), NotAdded(4)]
    assert find_altered_rows(path) == []


async def test_a_row_that_another_program_appends_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    async with SqliteJournal(path) as journal:
        await journal.append([RunStopped("a")])
        with closing(sqlite3.connect(path)) as other:
            other.execute("INSERT INTO events (at, type, payload) SELECT at, type, payload FROM events")
            other.commit()
        with pytest.raises(JournalError, match="another process writes this journal"):
            await journal.append([RunStopped("b")])
    assert known(path) == [RunStopped("a"), RunStopped("a")]
    assert find_altered_rows(path) == [(2, "RunStopped", None)]


async def test_a_run_can_be_read_by_its_owner_alone_from_its_first_file_on(tmp_path: Path) -> None:
    task = tmp_path / "mine.py"
    task.touch()
    folder = RunFolder(tmp_path / "runs" / "one")
    before = os.umask(0)
    try:
        with folder.created(), folder.locked():
            assert folder.path.stat().st_mode & 0o077 == 0
            folder.write_settings({"seed": 1})
            folder.keep_parts(Settings(task=str(task)))
            folder.write_best("x = 1", "best")
            folder.write_recommended("x = 1", "best")
            folder.keep("held-out.json", "{}")
            folder.note("begun")
            folder.inbox.put("advice", "text")
            async with SqliteJournal(folder.journal) as journal:
                await journal.append([RunStopped("a")])
                copy_journal(folder.journal, tmp_path / "copy.db")
                assert {"run.db-wal", "run.db-shm"} <= {path.name for path in folder.path.iterdir()}
                inside = [*folder.path.iterdir(), tmp_path / "copy.db"]
                modes = {path.name: path.stat().st_mode & 0o077 for path in inside}
    finally:
        os.umask(before)
    assert set(modes.values()) == {0}, modes
    assert {"run.db", "run.db-wal", "copy.db", "task", "best.py", "log.txt", ".lock", "settings.toml"} <= modes.keys()
