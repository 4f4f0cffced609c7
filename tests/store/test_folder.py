"""A run's folder is made once, held by one process, and never half written."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import runpy
import secrets
from datetime import datetime
from pathlib import Path

import pytest

from behavesim.base.errors import BehavesimError, JournalError, UsageError
from behavesim.engine.admission import settings_from_person
from behavesim.state.events import RunStarted
from behavesim.state.settings import settings_from_journal
from behavesim.store import folder as writing
from behavesim.store.folder import HELD_OUT, MOST_NOTES, SUMMARY, RunFolder
from tests.analysis.journals import started, write
from tests.store.written import written


def made(runs: Path, name: str) -> RunFolder:
    folder = RunFolder.named(runs, name)
    with folder.created():
        return folder


def test_a_name_is_used_once(tmp_path: Path) -> None:
    made(tmp_path / "runs", "first")
    with pytest.raises(UsageError, match="resume it"):
        made(tmp_path / "runs", "first")


@pytest.mark.parametrize("end", [KeyboardInterrupt, asyncio.CancelledError, OSError])
def test_a_folder_that_does_not_become_a_run_is_gone_again(tmp_path: Path, end: type[BaseException]) -> None:
    folder = RunFolder.named(tmp_path, "first")

    def fail() -> None:
        with folder.created(), folder.locked():
            folder.write_settings({"seed": 1})
            raise end

    with pytest.raises(end):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../away", "a/b", ".hidden", "a b", "-rf"])
def test_a_name_that_could_lead_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="letters, digits"):
        made(tmp_path, name)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--runs-dir"):
        made(tmp_path / "file" / "runs", "first")


def test_fresh_names_differ_within_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 1, 2, 3, 4, 5)
    names = [RunFolder.fresh_name("tsp", now) for _ in range(10)]
    assert all(name.startswith("tsp-20260102-030405-") for name in names)
    assert len(set(names)) > 1  # whoever starts twenty runs at once must get twenty folders
    digits = ["3f9a", "3f9a", "11bb"]
    monkeypatch.setattr(secrets, "token_hex", lambda count: digits.pop(0))
    for taken in ("3f9a", "11bb"):
        assert RunFolder.fresh(tmp_path, "tsp", now).path.name == f"tsp-20260102-030405-{taken}"
        (tmp_path / f"tsp-20260102-030405-{taken}").mkdir()


def test_a_run_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    with folder.locked():
        assert folder.is_running()
        with pytest.raises(BehavesimError, match="in use"), folder.locked():
            pass
    assert not folder.is_running()


def test_a_run_is_found_by_id_by_path_and_from_inside_and_a_missing_one_names_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path, "tsp-1")
    folder.journal.write_bytes(b"")
    assert RunFolder.find(tmp_path, "tsp-1") == folder
    assert RunFolder.find(tmp_path, str(folder.path)) == folder
    monkeypatch.chdir(folder.path)
    assert RunFolder.find(tmp_path, ".") == folder
    with pytest.raises(UsageError, match="tsp-1"):
        RunFolder.find(tmp_path, "tsp-2")


def test_settings_survive_their_file(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    settings = settings_from_person(
        {"task": "tsp", "proposer": "openai", "models": {"a": 2.0}}, ["prices={}", "seed=7"]
    )
    folder.write_settings(settings.flat())
    assert settings_from_journal(folder.read_settings()) == settings


def test_settings_are_on_the_disk_before_they_replace_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, lasting, sync = made(tmp_path, "first"), list[tuple[int, int, bool]](), os.fsync

    def watched(file: int) -> None:
        found = os.fstat(file)
        lasting.append((found.st_ino, found.st_size, folder.settings.exists()))
        sync(file)

    monkeypatch.setattr(os, "fsync", watched)
    folder.write_settings({"task": "tsp"})
    found = folder.settings.stat()
    assert lasting == [(found.st_ino, found.st_size, False)]


def test_settings_are_read_where_their_method_and_proposer_are_gone(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    folder.write_settings({"task": "tsp", "seed": 3, "method": "/nowhere/mine.py", "proposer": "gone", "knob": 2})
    settings = settings_from_journal(folder.read_settings())
    assert (settings.seed, settings.method, settings.proposer) == (3, "/nowhere/mine.py", "gone")


def test_the_best_program_is_replaced_in_one_step(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    folder.write_best("def f(): ...", "score 1")
    folder.write_best("def g(): ...", "score 2")
    assert folder.best.read_text() == "# score 2\n\ndef g(): ...\n"
    assert sorted(path.name for path in folder.path.iterdir()) == ["best.py"]


def test_a_comment_that_begins_a_program_does_not_name_the_encoding_of_its_file(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    folder.write_best("# -*- coding: latin-1 -*-\ndef f():\n    return 'ä'", "score 1")
    assert runpy.run_path(str(folder.best))["f"]() == "ä"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\x00", "\udc80"])
def test_a_name_of_a_run_with_any_line_end_in_it_stays_a_comment(tmp_path: Path, end: str) -> None:
    folder = RunFolder(tmp_path)
    folder.write_best("x = 1", f"run a{end}y = 2{end}, candidate 3")
    known: dict[str, object] = {}
    exec(compile(folder.best.read_bytes(), "best.py", "exec"), known)
    assert "y" not in known
    assert known["x"] == 1


def test_every_file_of_a_run_has_its_name(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "first")
    files = [folder.journal, folder.best, folder.recommended, folder.portfolio, folder.settings, folder.log]
    names = ["run.db", "best.py", "recommended.py", "portfolio.py", "settings.toml", "log.txt"]
    assert files == [tmp_path / "first" / name for name in names]
    folder.path.mkdir()
    folder.inbox.put("mine", "number = 1\n")
    assert [path.read_text() for path in (tmp_path / "first/inbox").iterdir()] == ["number = 1\n"]


def test_a_run_below_runs_is_called_by_its_id_and_elsewhere_by_its_path() -> None:
    assert RunFolder(Path("runs/first")).argument == "first"
    assert RunFolder(Path("elsewhere/first one")).argument == "'elsewhere/first one'"


def test_runs_are_listed_oldest_first_and_the_latest_are_named(tmp_path: Path) -> None:
    assert RunFolder.all(tmp_path / "none") == []
    with pytest.raises(UsageError, match="there are none yet"):
        RunFolder.find(tmp_path, "first")
    for number, name in enumerate("gfedcba"):
        written(made(tmp_path, name).journal, [RunStarted({}, {}, "none")], [float(number + 1)])
    assert [folder.run for folder in RunFolder.all(tmp_path)] == list("gfedcba")
    with pytest.raises(UsageError, match="runs there: e, d, c, b, a"):
        RunFolder.find(tmp_path, "first")


def test_a_run_is_found_by_its_journal(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    folder.journal.write_bytes(b"")
    assert RunFolder.find(tmp_path / "elsewhere", str(folder.journal)) == folder


def test_a_run_has_begun_with_its_first_event(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    assert not folder.has_begun()
    written(folder.journal, [])
    assert not folder.has_begun()
    written(folder.journal, [RunStarted({}, {}, "none")])
    assert folder.has_begun()


def test_a_run_that_was_never_held_is_not_running(tmp_path: Path) -> None:
    assert not made(tmp_path, "first").is_running()


def test_the_recommended_program_and_what_reports_found_out_are_kept(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    assert folder.kept(HELD_OUT) is None
    folder.keep(HELD_OUT, "{}")
    folder.write_recommended("def f(): ...", "score 1")
    assert folder.kept(HELD_OUT) == "{}"
    assert folder.recommended.read_text() == "# score 1\n\ndef f(): ...\n"


def test_the_log_has_a_line_a_time_with_what_cannot_be_printed_shown(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    folder.note("one")
    folder.note("two\x1b[2J")
    first, second = folder.log.read_text().splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4} one", first)
    assert second.isprintable()


@pytest.mark.parametrize(
    ("number", "advice"), [(errno.ENOSPC, "make room on the disk"), (errno.EACCES, "yours to write")]
)
def test_what_cannot_be_written_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    folder = made(tmp_path, "first")
    monkeypatch.setattr(writing, "owner_only", refuse)
    with pytest.raises(JournalError, match=rf"cannot write .*best.py: .*{advice}.*resume the run"):
        folder.write_best("def f(): ...", "score 1")


def test_a_run_is_found_by_the_beginning_of_its_id_where_no_other_begins_so(tmp_path: Path) -> None:
    for name in ("tsp-1", "tsp-2", "asp"):
        write(tmp_path / name, started())
    assert RunFolder.find(tmp_path, "a").run == "asp"
    with pytest.raises(UsageError, match=r"2 runs .* begin with 'tsp': tsp-1, tsp-2; name one"):
        RunFolder.find(tmp_path, "tsp")
    with pytest.raises(UsageError, match="did you mean 'asp'"):
        RunFolder.find(tmp_path, "assp")


def test_the_newest_run_is_the_one_begun_last(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there are no runs .* yet; make one with: behavesim run tsp"):
        RunFolder.newest(tmp_path)
    for name in ("b", "c", "a"):
        write(tmp_path / name, started())
    assert RunFolder.newest(tmp_path) == RunFolder.all(tmp_path)[-1]


def test_a_name_is_made_for_a_task_whose_own_is_none_for_a_folder() -> None:
    name = RunFolder.fresh_name("kna p/sack!", datetime(2026, 1, 2, 3, 4, 5))
    assert name.startswith("kna-p-sack--20260102-030405-")
    assert RunFolder.named(Path("runs"), name).run == name


def test_a_pipe_in_the_place_of_a_file_is_an_error_and_holds_nothing_up(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for name in ("log.txt", "best.draft", "held-out.json", ".summary", "settings.toml"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(JournalError, match=r"cannot write .*log.txt: it is a named pipe, not a file; remove it"):
        folder.note("one")
    with pytest.raises(JournalError, match="named pipe"):
        folder.write_best("x = 1", "the best")
    with pytest.raises(UsageError, match="no regular file"):
        folder.read_settings()
    assert (folder.kept(HELD_OUT), folder.kept(SUMMARY)) == (None, None)


def test_of_notes_without_end_the_last_are_read(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with folder.notes_file.open("wb") as file:
        file.truncate(10**9)  # as a disk may leave a file behind that lost its power; read whole, lists took minutes
    folder.add_note("the last")
    assert folder.notes[-1].endswith("the last")
    assert sum(map(len, folder.notes)) <= MOST_NOTES
