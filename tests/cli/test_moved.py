"""A run that is moved, with the files of its task and method gone from where they were."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.command import Command


@pytest.fixture
def moved(behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stopped run of parts of one's own, in another folder; their files are in neither."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    behavesim("task", "init", "mine")
    behavesim("method", "init", "ways")
    short = ("--budget", 6, "--set", "recommend=false", "--set", "keep=4")
    made = behavesim("run", "mine.py", "--method", "ways.py", *short, "--name", "first", "--json")
    assert made.code == 0, made.err
    shutil.move(tmp_path / "here/runs", tmp_path / "there")
    shutil.move(tmp_path / "here/mine.py", tmp_path / "elsewhere.py")
    (tmp_path / "here/ways.py").rename(tmp_path / "ways.py")
    monkeypatch.chdir(tmp_path / "there")
    return tmp_path


def test_it_is_read_and_verified_and_gone_on_with_by_its_own_copies(moved: Path, behavesim: Command) -> None:
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


def test_a_method_that_is_back_and_was_changed_is_refused(moved: Path, behavesim: Command) -> None:
    (moved / "here/ways.py").write_text((moved / "ways.py").read_text() + "# changed\n")
    again = behavesim("resume", "./first", "--budget", 8)
    assert (again.code, "its method changed" in again.err) == (2, True), again.err


PROPOSER = """
import behavesim as bs


class Own(bs.Proposer[bs.ProposerSettings]):
    costs_money = False

    @classmethod
    def of(cls, settings, context):
        return cls()

    async def propose(self, prompt, number):
        return bs.Reply("```python\\ndef select_next_node(a, b, c, d):\\n    return c[0]\\n```", "own")


proposer = Own
"""


def test_a_proposer_has_no_copy_and_is_named_where_it_is(behavesim: Command, tmp_path: Path) -> None:
    own, elsewhere = tmp_path / "own.py", tmp_path / "elsewhere/own.py"
    own.write_text(PROPOSER)
    made = behavesim("run", "tsp", "--proposer", own, "--budget", 2, "--set", "recommend=false", "--name", "first")
    assert made.code == 0, made.err
    assert not list((tmp_path / "runs/first").rglob("own.py"))  # it may hold a key
    elsewhere.parent.mkdir()
    own.rename(elsewhere)
    done = behavesim("resume", "first", "--budget", 4, "--set", f"proposer={elsewhere}", "--json")
    assert (done.code, done.document["asked"]) == (0, 4), done.err
