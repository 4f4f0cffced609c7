"""Disks fill up, databases are locked, folders are copied or may not be written: a run says so, and goes on later."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.analysis.run import Run
from behavesim.base.errors import JournalError
from behavesim.state.events import RunStopped
from behavesim.store.database import new_journal
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from tests.crash.processes import CALM, Subject, carried_out, ended


class Disk:
    """A disk of its own, as small or as read-only as one likes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mount(self, options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")

    def remount(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.path)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    path = tmp_path / "disk"
    path.mkdir()
    yield Disk(path)
    subprocess.run(["umount", "--lazy", str(path)], capture_output=True, check=False)


async def test_a_full_disk_stops_a_run_that_goes_on_once_there_is_room(disk: Disk, calm: Subject) -> None:
    disk.mount("size=400k")
    subject = Subject(disk.path / "run", CALM)
    stopped = await subject.finish()
    assert stopped.code == 1
    assert "make room on the disk" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert 0 < subject.events() < calm.events()
    disk.remount("size=50m")
    done = await subject.finish()
    assert done.code == 0, done.stderr
    assert subject.told == calm.told
    assert subject.digest == calm.digest


async def test_a_folder_that_may_not_be_written_can_be_read(disk: Disk, calm: Subject) -> None:
    disk.mount("size=50m")
    shutil.copytree(calm.folder, disk.path / "run")
    disk.remount("ro")
    here = ("--runs-dir", str(disk.path))
    report = await carried_out("report", "run", "--json", *here)
    assert report.code == 0, report.stderr
    assert calm.digest in report.stdout
    resumed = await carried_out("resume", "run", "--budget", "50", *here)
    assert resumed.code != 0
    assert "is yours to write" in resumed.stderr
    assert "Traceback" not in resumed.stderr


async def test_a_locked_database_is_an_error_and_not_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    async with SqliteJournal(path, patience_s=0.05) as journal:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalError, match="locked; another process"):
                await journal.append([RunStopped("budget")])
            with pytest.raises(JournalError, match="locked; another process"):
                await journal.append([RunStopped("a"), RunStopped("b")])
            other.execute("ROLLBACK")
        await journal.append([RunStopped("budget")])
    assert [event for _, _, event in read_events(path)] == [RunStopped("budget")]


def _copied_if_there(source: str, target: str) -> None:
    """Copy a file as `cp -r` does, which goes on where a draft has just taken its place."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)


async def test_a_folder_copied_while_its_run_goes_on_is_a_run(tmp_path: Path, calm: Subject) -> None:
    subject = Subject(tmp_path / "run", CALM)
    process = await subject.start()
    copies: list[Path] = []
    copied = 0
    while process.returncode is None:
        await asyncio.sleep(0.01)
        if subject.events() > copied and len(copies) < 6:
            copy = tmp_path / f"copy-{len(copies)}"
            copies.append(Path(shutil.copytree(subject.folder, copy, copy_function=_copied_if_there)))
            copied = subject.events()
    assert (await ended(process)).code == 0
    final = [event for _, _, event in read_events(subject.folder / "run.db")]
    lengths = []
    for copy in copies:
        events = [event for _, _, event in read_events(copy / "run.db")]
        assert events == final[: len(events)]
        lengths.append(len(events))
    assert len(set(lengths)) > 1
    middle = copies[len(copies) // 2]
    assert (await Subject(middle, []).finish()).code == 0
    assert Run.load(middle).state.digest() == calm.digest


@pytest.mark.parametrize("has_tables", [True, False])
async def test_a_run_killed_in_its_first_instant_says_what_to_do(
    tmp_path: Path, calm: Subject, has_tables: bool
) -> None:
    folder = RunFolder(tmp_path / "stillborn")
    with folder.created():
        if has_tables:
            async with SqliteJournal(folder.journal):
                pass
        else:
            with closing(sqlite3.connect(tmp_path / "run.db", isolation_level=None)) as making:
                making.execute("PRAGMA cache_size = 1")
                making.executescript(new_journal())
                making.execute("CREATE TABLE early (x)")
                making.execute("BEGIN")
                making.executemany("INSERT INTO early VALUES (?)", [("x" * 3000,)] * 50)
                for name in ("run.db", "run.db-journal"):  # as a kill leaves them
                    shutil.copy(tmp_path / name, folder.path / name)
    assert not folder.has_begun()
    shutil.copytree(calm.folder, tmp_path / "sound")
    shutil.copy(tmp_path / "sound/settings.toml", folder.settings)
    here = ("--runs-dir", str(tmp_path))
    resumed = await carried_out("resume", "stillborn", *here)
    assert resumed.code == 2
    assert "ended before it began" in resumed.stderr
    listed = await carried_out("list", *here)
    assert listed.code == 0, listed.stderr
    assert "sound" in listed.stdout
