"""A run ends in order when it is asked to, sleeps through pauses, and can be gone on with in other ways."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from behavesim.analysis.run import Run
from behavesim.application.launch import new_launch
from behavesim.application.verification import verify_runs
from behavesim.engine.build import new_search
from behavesim.state.events import Regrouped, RunForked
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from tests.cli.command import Command
from tests.crash.processes import CALM, FEW_CITIES, Subject, ended, start

SIGNALLED = """
import os
from behavesim_offline.proposer import GeneticProposer

class Signalled(GeneticProposer):
    \"\"\"Has its own process signalled when it is asked for one candidate: no other moment is as sure.\"\"\"

    async def propose(self, prompt, number):
        if str(number) == os.environ.get("AT"):
            os.kill(os.getpid(), int(os.environ["SIGNAL"]))
        return await super().propose(prompt, number)

proposer = Signalled
"""


async def test_a_run_that_is_asked_to_end_ends_in_order_and_goes_on(tmp_path: Path, calm: Subject) -> None:
    (tmp_path / "signalled.py").write_text(SIGNALLED)
    subject = Subject(tmp_path / "asked", (*CALM, "--proposer", str(tmp_path / "signalled.py")))
    for number, at in ((signal.SIGTERM, 4), (signal.SIGINT, 14), (signal.SIGHUP, 24)):
        said = await replace(subject, env={"AT": str(at), "SIGNAL": str(int(number))}).finish()
        assert said.code == 130, said.stderr
        assert f"interrupted; what has arrived is kept, go on with: behavesim resume {subject.folder}\n" in said.stderr
        assert "Traceback" not in said.stderr
        assert said.stdout.count("interrupted") == 1
        assert Run.load(subject.folder).state.stopped == "interrupted"
    process = await subject.start()
    await subject.reached(subject.events() + 10)
    os.killpg(process.pid, signal.SIGSTOP)  # as a laptop that is closed
    await asyncio.sleep(0.5)
    os.killpg(process.pid, signal.SIGCONT)
    assert (await ended(process)).code == 0
    assert subject.told == calm.told
    assert subject.digest == calm.digest


async def test_a_run_that_is_asked_to_end_before_it_began_leaves_nothing_behind(tmp_path: Path) -> None:
    long = (*CALM, "--budget", "5000")
    starts = [await Subject(tmp_path / f"early-{number}", long, anew=True).start() for number in range(3)]
    for number, process in enumerate(starts):
        await asyncio.sleep(0.15 * number)
        os.kill(process.pid, signal.SIGTERM)
        said = await ended(process)
        assert said.code in (130, -signal.SIGTERM), said.stderr  # the latter while Python itself still starts
        assert "Traceback" not in said.stderr
        folder = RunFolder(tmp_path / f"early-{number}")
        assert folder.has_begun() or not folder.path.exists()


async def test_a_run_that_is_asked_to_end_within_its_first_commit_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancelled(journal: SqliteJournal, events: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(SqliteJournal, "append", cancelled)
    with pytest.raises(asyncio.CancelledError):
        async with new_search(new_launch("tsp", tmp_path, {"method": "best-of-n"}, name="first")):
            pass
    assert list(tmp_path.iterdir()) == []


async def test_an_experiment_that_is_asked_to_end_says_what_is_done_and_how_to_go_on(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(EXPERIMENT)
    process = await start("experiment", str(file), "--jobs", "1", "--runs-dir", str(tmp_path / "kept"))
    await Subject(tmp_path / "kept/long/tsp-eoh-seed1", ()).reached(8)
    os.kill(process.pid, signal.SIGTERM)
    said = await ended(process)
    assert said.code == 130, said.stderr
    assert [line.partition(",")[0].partition(": best")[0] for line in said.stderr.splitlines()] == [
        "behavesim: 3 runs",
        "behavesim: One run per group: no test possible. Run at least 5 seeds (5 and 5: p ≥ 0.024).",
        "behavesim: up to 1 at once; see one go on with: "
        f"behavesim report {tmp_path}/kept/long/tsp-best-of-n-seed1 --follow",
        "1/3 tsp-best-of-n-seed1",
        "tsp-eoh-seed1: interrupted",
        f"behavesim: interrupted; go on with: behavesim experiment {file} --jobs 1 --runs-dir {tmp_path}/kept",
    ]
    assert re.search(r"best [\d.]+ \(.*\), about \d+:\d\d left$", said.stderr, re.MULTILINE)


EXPERIMENT = """
name = "long"
tasks = ["tsp"]
seeds = [1]
[settings]
recommend = false
[[variant]]
name = "best-of-n"
settings = { method = "best-of-n", budget = 4 }
[[variant]]
name = "eoh"
settings = { method = "eoh", budget = 5000 }
[[variant]]
name = "niche"
settings = { method = "niche", budget = 5000 }
"""


def test_what_changed_is_named_and_a_fork_goes_on_with_it(behavesim: Command, tmp_path: Path, calm: Subject) -> None:
    shutil.copytree(calm.folder, tmp_path / "first")
    here = ("--runs-dir", str(tmp_path))
    changes = ("--set", "restart_every=10", "--set", "p_s1=0.5", "--budget", "52")
    refused = behavesim("resume", "first", *changes, *here)
    assert refused.code == 2
    assert "restart_every was 500 and is 10" in refused.err
    assert "--fork NEW-ID" in refused.err
    forked = behavesim("resume", "first", *changes, "--fork", "second", *here)
    assert forked.code == 0, forked.err
    first, second = ([e for _, _, e in read_events(tmp_path / name / "run.db")] for name in ("first", "second"))
    assert second[: len(first)] == first
    assert isinstance(second[len(first)], RunForked)
    run = Run.load(tmp_path / "second")
    assert (run.state.registered, run.settings.flat()["p_s1"]) == (52, 0.5)
    # the founding, the restart that was overdue at the fork, and the one at 50
    assert sum(isinstance(event, Regrouped) for event in second) == 3
    assert Run.load(tmp_path / "first").state.registered == 40
    verified = behavesim("verify", "second", *here)
    assert verified.code == 0, verified.out
    islands = behavesim("resume", "first", "--set", "islands=3", "--fork", "third", *here)
    assert islands.code == 2
    assert "a fork keeps its islands" in islands.err


DEARER = """
class Dearer(type(task)):
    def score(self, instance, solution):
        return super().score(instance, solution) + 100


task = Dearer()
"""


DESCRIBED = DEARER.replace("+ 100", "+ 0")


def test_a_changed_task_is_named_and_a_fork_goes_on_if_its_scores_are_as_they_were(
    behavesim: Command, tmp_path: Path
) -> None:
    task = tmp_path / "tours.py"
    task.write_text(Path(FEW_CITIES).read_text())
    few = ("--set", "recommend=false", "--set", "fresh_evaluations=3")
    arguments = (task, "--method", "best-of-n", *few, "--name", "first")
    assert behavesim("run", *arguments, "--runs-dir", tmp_path, "--budget", 6).code == 0
    here = ("--runs-dir", tmp_path, "--budget", 10)
    for change, code in ((DEARER, 2), (DESCRIBED, 0)):
        task.write_text(Path(FEW_CITIES).read_text() + change)
        refused = behavesim("resume", "first", *here)
        assert refused.code == 2
        assert "its task changed" in refused.err
        assert (
            "with --fork NEW-ID if all scores stay as they are, else start a new run with --start-with" in refused.err
        )
        forked = behavesim("resume", "first", "--fork", "second", *here)
        assert forked.code == code, forked.err
        assert ("the changed task judges the template of first otherwise" in forked.err) == (code == 2)
        assert (tmp_path / "second").exists() == (code == 0)
    assert Run.load(tmp_path / "second").state.registered == 10
    assert behavesim("recommend", "second", "--runs-dir", tmp_path).code == 0
    found = asyncio.run(verify_runs(RunFolder(tmp_path / "second"), workers=2))
    assert found.is_sound
    assert found.unchecked["under another task"] == 6 + 1  # the template
    assert found.unchecked["chosen in a run that changed its task"] == 3  # its race begins, has scores and a winner
