"""A run's folder is made once, held by one process, and never half written."""

from __future__ import annotations

import asyncio
import runpy
from datetime import datetime
from pathlib import Path

import pytest

from behavesim.errors import BehavesimError, UsageError
from behavesim.settings import recorded, resolve
from behavesim.store.folder import RunFolder


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


def test_fresh_names_differ_within_a_second() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5)
    names = [RunFolder.fresh_name("tsp", now) for _ in range(10)]
    assert all(name.startswith("tsp-20260102-030405-") for name in names)
    assert len(set(names)) > 1  # whoever starts twenty runs at once must get twenty folders


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
    settings = resolve({"task": "tsp", "proposer": "openai", "models": {"a": 2.0}}, ["prices={}", "seed=7"])
    folder.write_settings(settings.flat())
    assert recorded(folder.read_settings()) == settings


def test_settings_are_read_where_their_method_and_proposer_are_gone(tmp_path: Path) -> None:
    folder = made(tmp_path, "first")
    folder.write_settings({"task": "tsp", "seed": 3, "method": "/nowhere/mine.py", "proposer": "gone", "knob": 2})
    settings = recorded(folder.read_settings())
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
