"""The referee scores in a process of its own, within limits: whatever scoring does, the search goes on."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import behavesim as bs
from behavesim.base.errors import Finding, TaskError
from behavesim.checks.task import check_task
from behavesim.engine.admission import settings_from_person
from behavesim.sandbox import limits as limiting
from behavesim.sandbox.judge import RefereePool, SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.processes import LINUX
from behavesim.state.events import Event, RunStopped
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure, Verdict
from tests.crash.processes import FEW_CITIES
from tests.sandbox.fakes import Returns

TASK = """
import os, signal, subprocess, sys, threading, time
import behavesim as bs
import numpy as np

kept = []

class Moody(bs.Task):
    '''Scores do what the first number of a solution says.'''
    template = "def f(x): return x"
    objective = bs.Objective("maximise")

    def instances(self, split):
        return [1]

    def solve(self, function, instance):
        return function(instance)

    def score(self, instance, solution):
        done = MOODS.get(int(solution[0]), lambda: None)()
        return float(solution[1]) if done is None else float(done)

    def trajectory(self, instance, solution):
        return bs.Trajectory.prefixes([0])

def alarmed():
    def rung(*_):
        raise bs.InvalidSolution("too slow")
    signal.signal(signal.SIGALRM, rung)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(30)

def forever():
    while True:
        pass

def dies_once():
    marker = os.environ["MARKER"]
    if not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)

MOODS = {
    1: forever,
    2: lambda: os._exit(3),
    3: lambda: os.kill(os.getpid(), signal.SIGSEGV),
    4: lambda: kept.append(np.ones(1 << 28)),
    13: lambda: kept.append(np.ones(1 << 25)),
    5: lambda: time.sleep(3600),
    6: alarmed,
    7: dies_once,
    8: os.getpid,
    9: lambda: threading.current_thread() is threading.main_thread(),
    10: lambda: subprocess.run([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE).stdout.strip(),
    11: lambda: os.kill(os.getppid(), signal.SIGKILL) or time.sleep(0.5),
    12: lambda: os.environ["PYTHONHASHSEED"],
}
task = Moody()
"""
FOREVER, EXITS, CRASHES, GROWS, SLEEPS, ALARMED, DIES_ONCE = range(1, 8)
PID, IN_MAIN, STARTS, KILLS_SERVER, SEED, KEEPS = range(8, 14)
COSTLY = "costly-score"


class Asks(Returns):
    """A sandbox in which a program's text is the mood it asks for, and the score."""

    async def send(self, source: str, *_: object):  # type: ignore[no-untyped-def]
        mood, score = source.split()
        return Returns(np.array([float(mood), float(score)]))._sent


@asynccontextmanager
async def judging(folder: Path, count: int = 1, memory_mb: int = 512) -> AsyncIterator[SandboxJudge]:
    (folder / "moody.py").write_text(TASK)
    reference = TaskReference(str(folder / "moody.py"))
    referees = RefereePool(reference, "search", Limits(timeout_s=0.1, memory_mb=memory_mb), count)
    async with SandboxJudge(reference.load(), Asks(), referees) as judge:
        yield judge


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring may take a second here."""
    monkeypatch.setattr(limiting, "LEAST_SCORE_S", 1.0)


async def score(judge: SandboxJudge, mood: int, value: float = 0.0) -> float:
    verdict = await judge.evaluate(f"{mood} {value}")
    assert isinstance(verdict, Verdict), verdict
    return verdict.score


@pytest.mark.parametrize(
    ("mood", "reason", "said"),
    [
        (
            FOREVER,
            COSTLY,
            "scoring its solutions (took more than 0.25 s of CPU|is not done after 2.5 s by the clock)",
        ),
        (EXITS, COSTLY, r"scoring its solutions ended the process that does it, twice \(with status 3\)"),
        (CRASHES, COSTLY, r"scoring its solutions ended the process that does it, twice \(by SIGSEGV\)"),
        pytest.param(
            *(
                GROWS,
                COSTLY,
                "`score` of task 'moody' raised .*Unable to allocate 2.00 GiB.*: more memory than memory_mb",
            ),
            marks=pytest.mark.skipif(not LINUX, reason="only Linux limits it"),
        ),
        (SLEEPS, COSTLY, "scoring its solutions is not done after 2.5 s by the clock"),
        (ALARMED, "invalid-solution", "too slow"),
    ],
)
async def test_scoring_that_takes_too_much_rejects_the_program_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mood: int, reason: str, said: str
) -> None:
    if mood in (FOREVER, SLEEPS):
        monkeypatch.setattr(limiting, "LEAST_SCORE_S", 0.25)
    async with judging(tmp_path, count=2) as judge:
        costly = asyncio.create_task(judge.evaluate(f"{mood} 0"))
        assert [await score(judge, 0, value) for value in range(5)] == list(range(5))
        failure = await costly
        assert isinstance(failure, Failure), failure
        assert failure.reason == reason
        assert re.search(said, failure.message)
        assert failure.cpu_s == 0.25
        assert await score(judge, 0, 7.5) == 7.5


async def test_a_referee_that_the_machine_killed_is_replaced_and_nothing_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKER", str(tmp_path / "died"))
    async with judging(tmp_path) as judge:
        assert await score(judge, DIES_ONCE, 5) == 5
        assert (tmp_path / "died").exists()


@pytest.mark.skipif(not LINUX, reason="only Linux limits memory")
async def test_what_a_task_keeps_of_earlier_programs_is_not_held_against_a_later_one(tmp_path: Path) -> None:
    async with judging(tmp_path) as judge:
        assert [await score(judge, KEEPS, value) for value in range(5)] == list(range(5)), "each keeps 256 of 512 MB"


async def test_the_death_of_the_server_that_forks_referees_costs_at_most_the_program_that_kills_it(
    tmp_path: Path,
) -> None:
    async with judging(tmp_path, count=3) as judge:
        assert {await score(judge, 0, value) for value in range(3)} == {0, 1, 2}
        failure = await judge.evaluate(f"{KILLS_SERVER} 0")
        assert isinstance(failure, Failure) and failure.reason == COSTLY
        assert await score(judge, 0, 4) == 4


async def test_scores_come_from_one_main_thread_of_a_process_that_goes_on(tmp_path: Path) -> None:
    async with judging(tmp_path, count=4) as judge:
        pids = [await score(judge, PID) for _ in range(3)]
        assert len(set(pids)) == 1 and os.getpid() not in pids
        assert await score(judge, IN_MAIN) == 1.0
        assert await score(judge, STARTS) == 1.0, "it may start processes"
        assert await score(judge, SEED) == 0.0, "its sets have one order in each run"


async def test_ten_referees_give_the_verdicts_of_one(tmp_path: Path) -> None:
    found = []
    for count in (1, 10):
        async with judging(tmp_path, count) as judge:
            found.append(await asyncio.gather(*(judge.evaluate(f"0 {value / 7}") for value in range(60))))
    assert found[0] == found[1]


async def test_cancelling_ends_at_once_what_is_being_scored_and_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limiting, "LEAST_SCORE_S", 3000.0)
    async with judging(tmp_path) as judge:
        pid = int(await score(judge, PID))
        for mood in (FOREVER, SLEEPS):
            running = asyncio.create_task(judge.evaluate(f"{mood} 0"))
            await asyncio.sleep(0.05)
            running.cancel()
            await asyncio.wait([running])
            assert running.cancelled()
        assert int(await score(judge, PID)) != pid
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_task_that_cannot_be_loaded_is_the_tasks_fault(tmp_path: Path) -> None:
    file = tmp_path / "moody.py"
    file.write_text(TASK)
    task = TaskReference(str(file)).load()
    file.write_text(TASK.replace("return [1]", "return None"))
    with pytest.raises(TaskError, match="must return a list, not None"):
        async with SandboxJudge(task, Asks(), RefereePool(TaskReference(str(file)), "search", Limits())):
            pass


CITIES = """
import signal, time
import numpy as np
from tests.few_cities import FewCities

class Slow(FewCities):
    def score(self, instance, solution):
        SCORE
        return super().score(instance, solution)

task = Slow()
"""
RINGS = "signal.signal(signal.SIGALRM, signal.SIG_IGN); signal.alarm(50); signal.alarm(0)"


def slow(folder: Path, score: str) -> str:
    (folder / "slow.py").write_text(CITIES.replace("SCORE", score))
    return str(folder / "slow.py")


async def checked(task: str) -> list[Finding]:
    loaded = TaskReference(task).load()
    return [
        each async for each in check_task(settings_from_person({"task": task, "timeout_s": 0.5}, task=loaded), loaded)
    ]


async def test_a_cap_on_time_ends_a_run_while_scores_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limiting, "LEAST_SCORE_S", 3000.0)
    tour = TaskReference(FEW_CITIES).load()
    scope: dict[str, Any] = {}
    exec(tour.template, scope)
    known = [tour.solve(scope[tour.entry_point], each).tolist() for each in tour.instances("search")]
    task = slow(tmp_path, f"while solution.tolist() not in {known}: pass")
    told: list[Event] = []
    given = {"proposer": "genetic", "max_time_s": 0.5, "recommend": False}
    await bs.search(task, budget=20, runs_dir=tmp_path, on_event=lambda event, _: told.append(event), **given)
    assert isinstance(told[-1], RunStopped) and told[-1].reason == "max_time"


async def test_a_run_and_a_check_refuse_a_task_whose_template_costs_too_much_to_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limiting, "LEAST_SCORE_S", 0.1)
    task = slow(tmp_path, "while True: pass")
    with pytest.raises(TaskError, match=r"with its template \(costly-score\): scoring its solutions .*let `solve` do"):
        await bs.search(task, budget=5, proposer="genetic", runs_dir=tmp_path, timeout_s=0.1)
    found = await checked(task)
    assert (found[-1].name, found[-1].result) == ("scoring", "fail")
    assert "scoring its solutions" in found[-1].message


async def test_a_task_whose_score_sets_an_alarm_is_scored_in_a_run_as_in_a_check(tmp_path: Path) -> None:
    task = slow(tmp_path, RINGS)
    run = await bs.search(task, budget=2, proposer="genetic", runs_dir=tmp_path, recommend=False)
    assert run.best is not None
    found = await checked(task)
    assert {each.result for each in found if each.name in ("scoring", "trusted scoring", "on validation")} == {"ok"}
