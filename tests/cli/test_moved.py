"""A run that is moved, with its task's file gone from where it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.command import Command


@pytest.fixture
def moved(behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stopped run on a task of one's own, in another folder; the task's file is in neither."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    behavesim("task", "init", "mine")
    short = ("--budget", 6, "--set", "recommend=false")
    made = behavesim("run", "mine.py", "--method", "best-of-n", *short, "--name", "first", "--json")
    assert made.code == 0, made.err
    shutil.move(tmp_path / "here/runs", tmp_path / "there")
    shutil.move(tmp_path / "here/mine.py", tmp_path / "elsewhere.py")
    monkeypatch.chdir(tmp_path / "there")
    return tmp_path


def test_it_is_read_and_verified_and_gone_on_with_by_its_own_copy_of_the_task(moved: Path, behavesim: Command) -> None:
    for verb in (["report", "--held-out"], ["recommend"], ["verify"], ["resume", "--budget", "8"]):
        done = behavesim(*verb, "./first", "--json")
        assert done.code == 0, (verb, done.err)
    assert (done.document["asked"], done.document["state"]) == (8, "finished")


def test_it_takes_its_task_from_where_it_is_told_that_it_is(moved: Path, behavesim: Command) -> None:
    shutil.rmtree(moved / "there/first/task")
    lost = behavesim("resume", "./first", "--budget", 8)
    assert (lost.code, "no task file" in lost.err) == (2, True)
    done = behavesim("resume", "./first", "--budget", 8, "--task", "../elsewhere.py", "--json")
    assert done.code == 0, done.err
    assert done.document["asked"] == 8


def test_a_task_that_was_changed_is_refused_wherever_it_is(moved: Path, behavesim: Command) -> None:
    changed = moved / "elsewhere.py"
    changed.write_text(changed.read_text() + "# changed\n")
    refused = behavesim("resume", "./first", "--budget", 8, "--task", changed)
    assert (refused.code, "its task changed" in refused.err) == (2, True), refused.err
    shutil.copy(changed, moved / "here/mine.py")
    again = behavesim("resume", "./first", "--budget", 8)
    assert (again.code, "its task changed" in again.err) == (2, True), again.err
