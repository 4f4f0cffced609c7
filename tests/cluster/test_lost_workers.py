"""Workers that die, hang or come back, and a scheduler that dies: nothing is lost, and no program is blamed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from behavesim.application import session
from behavesim.application.launch import new_launch, next_launch
from behavesim.base.errors import SandboxError
from behavesim.base.heartbeat import Heartbeat
from behavesim.cluster import dispatcher, runner
from behavesim.cluster.protocol import LineLost
from behavesim.cluster.runner import Cluster
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import ProgramPool
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure, Solved
from benchmarks.cluster import DaskCluster
from tests.application.test_session import unseen
from tests.crash.processes import FEW_CITIES

HEAD = "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n    "
SLOW = f"import time\n{HEAD}time.sleep(0.02)\n    return unvisited_nodes[0]\n"
"""It takes a second, most of it asleep."""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for workers, and for signs of their life, more often than for people."""
    monkeypatch.setattr(runner, "LOOK_S", 0.2)
    monkeypatch.setattr(runner, "AGAIN_S", 0.3)
    monkeypatch.setattr(dispatcher, "SILENT_S", 4.0)


def on(cluster: DaskCluster, told: list[str]) -> ProgramPool:
    task = TaskReference(FEW_CITIES).load()
    there = Cluster(cluster.address, True, False, told.append, Heartbeat())
    return there.functions(FEW_CITIES, task, "search", Limits(timeout_s=20.0, memory_mb=512))


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.05)


def solved(found: list[Solved | Failure | BaseException]) -> bool:
    return all(isinstance(each, Solved) for each in found)


async def test_a_worker_that_lives_and_never_becomes_ready_is_lost_and_ends_no_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Beating:
        async def receive(self) -> dict[str, int]:
            await asyncio.sleep(0.01)
            return {"beat": 1}

    monkeypatch.setattr(dispatcher, "START_S", 0.05)
    monkeypatch.setattr(dispatcher, "GRACE_S", 0.0)
    with pytest.raises(LineLost, match="not ready after"):
        await dispatcher._when_ready(Beating(), "one", Heartbeat(beat_s=0.01))


async def test_a_worker_that_hangs_loses_its_programs_and_may_come_back(processes: DaskCluster) -> None:
    told: list[str] = []
    processes.serve("one", "two")
    async with on(processes, told) as pool:
        await until(lambda: any("2 workers" in text for text in told))
        work = [asyncio.create_task(pool.evaluate(SLOW)) for _ in range(2)]
        await asyncio.sleep(0.3)
        processes.kill("one", signal.SIGSTOP)
        assert solved(await asyncio.gather(*work))
        await until(lambda: f"worker one was lost: it gave no sign of life for {dispatcher.SILENT_S:g} s" in told)
        processes.kill("one", signal.SIGCONT)
        await until(lambda: sum("2 workers" in text for text in told) == 2)
        assert isinstance(await pool.evaluate(SLOW), Solved)


async def test_programs_outlive_their_workers_one_by_one_and_all_together(processes: DaskCluster) -> None:
    told: list[str] = []
    processes.serve("one", "two")
    async with on(processes, told) as pool:
        await until(lambda: any("2 workers" in text for text in told))
        work = [asyncio.create_task(pool.evaluate(SLOW)) for _ in range(4)]
        await asyncio.sleep(0.3)
        processes.kill("one")
        assert solved(await asyncio.gather(*work))
        await until(lambda: any(text.startswith("worker one was lost") for text in told))

        work = [asyncio.create_task(pool.evaluate(SLOW)) for _ in range(3)]
        await asyncio.sleep(0.3)
        processes.kill("two")
        await until(lambda: any("no worker of the cluster serves" in text for text in told))
        processes.join("three")
        assert solved(await asyncio.gather(*work))
        await until(lambda: any(text.startswith("worker two was lost") for text in told))


async def test_without_its_scheduler_a_run_stops_in_order_and_is_resumed_elsewhere(
    processes: DaskCluster, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"budget": 30, "window": 8, "proposer": "genetic", "recommend": False, "seed": 3}
    here = await session.begin(new_launch(FEW_CITIES, tmp_path, {**given, "workers": 1}, name="here"), unseen, print)
    processes.serve("three")
    launch = new_launch(FEW_CITIES, tmp_path, {**given, "workers": processes.address}, name="there")
    running = asyncio.create_task(session.begin(launch, unseen, print))
    await until(lambda: launch.folder.best.exists() or running.done())
    processes.scheduler.kill()  # the last test that needs it
    with pytest.raises(SandboxError, match=r"the Dask scheduler tcp://\S+ was lost .*; start the cluster again"):
        await running
    there = await session.resume(next_launch(launch.folder, {"workers": 1}), unseen, print)
    assert there.run.state.digest() == here.run.state.digest()
