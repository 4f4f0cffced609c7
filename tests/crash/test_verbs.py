"""The verbs that look at runs: replay beside the original, verify, recover and watch, as a person calls them."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.store.folder import RunFolder
from tests.cli.command import Command
from tests.crash.processes import CALM, Subject, ended, start


@pytest.fixture(scope="module")
def runs(calm: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run, `first`."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(calm.folder, folder / "first")
    return folder


def test_a_replay_is_its_original_and_one_under_other_settings_says_what_differs(
    behavesim: Command, runs: Path, calm: Subject
) -> None:
    replay = [*CALM, "--proposer", "replay:first", "--json", "--runs-dir", str(runs)]
    same = behavesim("run", *replay, "--name", "same").document
    assert same["replay"] == {"of": "first", "candidates": 40, "differing": {}, "first": {}}
    assert same["digest"] == calm.digest
    other = behavesim("run", *replay, "--name", "other", "--set", "placement=random").document
    differing = other["replay"]["differing"]
    assert differing["island"] > 10
    assert not differing.keys() & {"program", "outcome", "score"}, "the replies are the same, and so is their worth"
    assert other["replay"]["first"]["island"] < other["replay"]["first"]["prompt"]


def test_verify_and_recover_tell_what_to_do_about_damage(behavesim: Command, runs: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for name in ("run.db", "settings.toml"):
        data = (runs / "first" / name).read_bytes()
        (damaged / name).write_bytes(b"?" * 5000 + data[5000:] if name == "run.db" else data)
    verified = behavesim("verify", "damaged", "--runs-dir", tmp_path)
    assert verified.code == 1
    assert f"behavesim verify {tmp_path / 'damaged'} --salvage" in verified.out
    recovered = behavesim("verify", "damaged", "--salvage", "--name", "whole", "--runs-dir", tmp_path)
    assert recovered.code == 0, recovered.err
    assert "run whole holds the" in recovered.out
    assert behavesim("recover", "damaged", "--name", "whole", "--runs-dir", tmp_path).code == 2
    shutil.copytree(runs / "first", tmp_path / "holed")
    with closing(sqlite3.connect(tmp_path / "holed/run.db")) as db, db:
        db.execute("DELETE FROM events WHERE seq = (SELECT min(seq) FROM events WHERE type = 'Added')")
        (count,) = db.execute("SELECT max(seq) FROM events").fetchone()
    recovered = behavesim("recover", "holed", "--name", "filled", "--runs-dir", tmp_path)
    assert (recovered.code, f"1 event of {count} could not be read" in recovered.out) == (0, True)


def test_verify_checks_as_many_candidates_as_it_is_asked_to(behavesim: Command, runs: Path) -> None:
    arguments = ("first", "--runs-dir", runs, "--json")
    whole, some = (behavesim("verify", *arguments, *more).document for more in ((), ("--sample", "10")))
    assert whole["sound"] and some["sound"]
    assert whole["events"] == some["events"]
    assert 0 < some["decisions"] < whole["decisions"]
    left_out = some["unchecked"].pop("not in the sample")
    assert left_out == 30
    assert behavesim("verify", *arguments, "--sample", "40").document["evaluations"] == whole["evaluations"]


async def test_watch_follows_a_run_to_its_end_and_tells_what_is_said_of_it(tmp_path: Path) -> None:
    subject = Subject(tmp_path / "watched", CALM)
    process = await subject.start()
    await subject.reached(5)
    os.killpg(process.pid, signal.SIGSTOP)  # until it is watched
    RunFolder(tmp_path / "watched").note("the endpoint is away")
    watcher = await start("watch", "watched", "--runs-dir", str(tmp_path))
    assert watcher.stderr is not None
    first = (await watcher.stderr.readline()).decode()
    os.killpg(process.pid, signal.SIGCONT)
    assert (await ended(process)).code == 0
    watching = await ended(watcher)
    assert watching.code == 0, watching.stderr
    assert "the endpoint is away\n" in first + watching.stderr
    assert "40/40 tried" in watching.stderr
    assert "run watched: finished" in watching.stdout
