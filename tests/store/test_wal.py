"""A write-ahead log that somebody holds is named once, and emptied by itself once nobody does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

from behavesim.events import RunStopped
from behavesim.store.journal import SqliteJournal, read_events

PAGES = 16
LIMIT = PAGES * 4096


async def test_a_log_that_a_reader_holds_is_named_once_and_emptied_when_the_reader_ends(tmp_path: Path) -> None:
    path, notes = tmp_path / "run.db", list[str]()
    log = tmp_path / "run.db-wal"
    seconds = count()  # each commit a second later, so that each one is made to last and looked at

    def steady() -> float:
        return float(next(seconds))

    async with SqliteJournal(path, steady=steady, notes=notes.append, checkpoint_pages=PAGES) as journal:

        async def write(events: int) -> None:
            for _ in range(events):
                await journal.append([RunStopped("x" * 4000)])

        await write(60)
        assert log.stat().st_size <= 2 * LIMIT
        assert notes == []
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM events").fetchone()
            await write(60)
            assert log.stat().st_size > 2 * LIMIT
        assert len(notes) == 1
        assert all(said in notes[0] for said in (f"{log} has grown to 0 MB", "another process", f"fuser {path}"))
        await write(60)
        assert log.stat().st_size <= 2 * LIMIT
        assert notes[1:] == [f"{log} has been emptied: nobody holds it any more"]
    assert sum(1 for _ in read_events(path)) == 180
