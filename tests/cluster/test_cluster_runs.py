"""Programs on a cluster give what they give here, and so do runs."""

from __future__ import annotations

import asyncio
import re
import signal
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import behavesim as bs
from behavesim.analysis.provenance import provenance_of
from behavesim.application.verification import verify_runs
from behavesim.base.config import Settings
from behavesim.base.errors import SandboxError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.cluster import dispatcher, runner, worker
from behavesim.cluster.runner import Cluster
from behavesim.engine.build import judge_of
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool
from behavesim.state.events import Responded
from behavesim.store.reading import read_events
from behavesim.task import TaskReference
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.verdict import Failure, Solved, Verdict
from tests.crash.processes import ENDLESS_CITIES, FEW_CITIES
from tests.evaluators.judging import file_of
from tests.sandbox.fakes import judge_with

LIMITS = Limits(timeout_s=20.0, memory_mb=512)
RUN: dict[str, Any] = {"budget": 12, "window": 8, "proposer": "genetic", "recommend": False, "seed": 3}
APART = """
from tests.few_cities import FewCities

class Apart(FewCities):
    stateless = True

task = Apart()
"""
HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n    "
PROGRAMS = [
    f"{HEAD}return unvisited_nodes[0]\n",
    f"{HEAD}return 1 / 0\n",
    f"import scipy.stats\n{HEAD}return unvisited_nodes[-1]\n",
    f"import os\n{HEAD}os._exit(3)\n",
]


def on(address: str, told: list[str], allow_others: bool = False) -> Cluster:
    return Cluster(address, True, allow_others, told.append, Heartbeat())


def alike(one: Solved | Failure, other: Solved | Failure) -> bool:
    """Whether two outcomes are the same but for the time that they took."""
    if isinstance(one, Failure) or isinstance(other, Failure):
        return isinstance(one, Failure) and isinstance(other, Failure) and one.message == other.message
    return all(starmap(np.array_equal, zip(one.solutions, other.solutions, strict=True)))


async def test_programs_end_on_a_cluster_as_they_end_here(cluster: str) -> None:
    told: list[str] = []
    reference = TaskReference(FEW_CITIES)
    task = reference.load()
    there = on(cluster, told).functions(FEW_CITIES, task, "search", LIMITS)
    async with there, Pool(reference, "search", 1, LIMITS, allow_weak_isolation=True) as here:
        assert there.isolation == here.isolation
        found = await asyncio.gather(*map(there.evaluate, PROGRAMS))
        for program, ended in zip(PROGRAMS, found, strict=True):
            assert alike(ended, await here.evaluate(program))
    assert [type(each) for each in found] == [Solved, Failure, Solved, Failure]


async def test_a_task_whose_programs_run_apart_is_judged_on_a_cluster_as_here(cluster: str, tmp_path: Path) -> None:
    (tmp_path / "apart.py").write_text(APART)
    reference = TaskReference(name := str(tmp_path / "apart.py"))
    task = reference.load()
    assert task.runs_apart
    there = on(cluster, []).functions(name, task, "search", LIMITS)
    here = Pool(reference, "search", 1, LIMITS, allow_weak_isolation=True)
    async with judge_with(reference, there) as first, judge_with(reference, here) as second:
        found, expected = await asyncio.gather(*(judge.evaluate(task.template) for judge in (first, second)))
    assert isinstance(found, Verdict) and isinstance(expected, Verdict)
    assert found.scores == expected.scores


def test_a_race_on_a_cluster_comes_out_as_here(cluster: str, tmp_path: Path) -> None:
    given = {**RUN, "budget": 24, "race": 9, "islands": 2}
    here = bs.search_sync(ENDLESS_CITIES, runs_dir=tmp_path, name="here", workers=1, **given)
    there = bs.search_sync(ENDLESS_CITIES, runs_dir=tmp_path, name="there", workers=cluster, **given)
    assert there.state.digest() == here.state.digest()
    assert any(each.raced for each in there.candidates)
    found = asyncio.run(verify_runs(there.folder, cluster))
    assert not found.differences and found.evaluations


def test_a_run_that_tunes_comes_out_on_a_cluster_as_here(cluster: str, tmp_path: Path) -> None:
    given = {**RUN, "tune": 4.0}
    here = bs.search_sync(ENDLESS_CITIES, runs_dir=tmp_path, name="here", workers=1, **given)
    there = bs.search_sync(ENDLESS_CITIES, runs_dir=tmp_path, name="there", workers=cluster, **given)
    assert there.state.digest() == here.state.digest()
    trials = [
        {
            event.candidate: (event.tuning.values, event.tuning.gains)
            for _, _, event in read_events(run.folder.journal)
            if isinstance(event, Responded) and event.tuning
        }
        for run in (here, there)
    ]
    assert trials[0] == trials[1] != {}
    found = asyncio.run(verify_runs(there.folder, cluster))
    assert not found.differences and found.evaluations


async def test_cancelling_a_program_frees_its_place(cluster: str) -> None:
    endless = PROGRAMS[0].replace("return", "while True: pass\n    return")
    task = TaskReference(FEW_CITIES).load()
    async with on(cluster, []).functions(FEW_CITIES, task, "search", LIMITS) as there:
        running = [asyncio.create_task(there.evaluate(endless)) for _ in range(4)]
        await asyncio.sleep(0.2)
        for each in running:
            each.cancel()
        assert isinstance(await there.evaluate(PROGRAMS[0]), Solved)


def test_a_run_on_a_cluster_finds_what_a_run_here_finds(cluster: str, tmp_path: Path) -> None:
    here = bs.search_sync(FEW_CITIES, runs_dir=tmp_path, name="here", workers=1, **RUN)
    there = bs.search_sync(FEW_CITIES, runs_dir=tmp_path, name="there", workers=cluster, **RUN)
    assert there.state.digest() == here.state.digest()
    assert there.state.started is not None
    assert (said := there.state.started.provenance["cluster"]).startswith("the cluster: ")
    assert (workers := provenance_of(there).workers) is not None
    assert re.fullmatch(r"1 worker, 2 places, isolation \S+ \(0\)", workers.serving) and said == workers.changes[0].text
    found = asyncio.run(verify_runs(there.folder, cluster))
    assert not found.differences and found.evaluations


async def test_an_evaluator_and_its_program_run_on_a_cluster(cluster: str) -> None:
    task = EvaluatorTask(file_of("openevolve", "circles/evaluator.py"), "circles")
    settings = Settings(task="circles", workers=cluster, allow_weak_isolation=True, timeout_s=60.0)
    async with judge_of(settings, task) as there:
        found = await there.evaluate(task.template)
    assert isinstance(found, Verdict) and found.cpu_s > 0


async def test_a_worker_with_other_versions_is_refused_unless_allowed(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {**runner.platform_facts(), "numpy": "1.0", "cpu": "AN_OLD_ONE"}
    monkeypatch.setattr(runner, "platform_facts", lambda: ours)
    task = TaskReference(FEW_CITIES).load()
    with pytest.raises(
        UsageError, match=r"numpy \S+ there, 1.0 here; instruction sets .* only here: AN_OLD_ONE.*allow"
    ):
        async with on(cluster, []).functions(FEW_CITIES, task, "search", LIMITS):
            pass
    told: list[str] = []
    async with on(cluster, told, allow_others=True).functions(FEW_CITIES, task, "search", LIMITS) as there:
        assert isinstance(await there.evaluate(PROGRAMS[0]), Solved)
    assert any("differs and is accepted: numpy" in text for text in told)


async def test_a_worker_with_another_task_is_refused(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "task_hash", lambda task, split: "another one")
    task = TaskReference(FEW_CITIES).load()
    with pytest.raises(UsageError, match="the task or its instances are not the same there"):
        async with on(cluster, []).functions(FEW_CITIES, task, "search", LIMITS):
            pass


async def test_a_task_that_is_never_loaded_is_refused_and_its_process_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def start_noted(*command: str, **kwargs: Any) -> asyncio.subprocess.Process:
        started.append(await start(*command, **kwargs))
        return started[-1]

    (tmp_path / "waiting.py").write_text("import time\n\ntime.sleep(600)\n")
    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_noted)
    monkeypatch.setattr(worker, "START_S", 0.2)
    with pytest.raises(SandboxError, match=r"not loaded there within 0\.2 s"):
        await worker._task_hash_here(str(tmp_path / "waiting.py"), "search")
    (process,) = started
    assert await process.wait() == -signal.SIGKILL


async def test_a_worker_without_behavesim_is_refused(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "INSTALL", b"cbehavesim_that_is_not_there\ninstall\n.")
    task = TaskReference(FEW_CITIES).load()
    with pytest.raises(UsageError, match=r"No module named 'behavesim_that_is_not_there'.*install behavesim there"):
        async with on(cluster, []).functions(FEW_CITIES, task, "search", LIMITS):
            pass


async def test_without_a_scheduler_the_address_is_refused() -> None:
    task = TaskReference(FEW_CITIES).load()
    with pytest.raises(UsageError, match=r"no Dask scheduler serves at tcp://127.0.0.1:9.*start one"):
        async with on("dask://127.0.0.1:9", []).functions(FEW_CITIES, task, "search", LIMITS):
            pass
