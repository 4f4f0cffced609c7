"""What a cluster costs: CPU time of the daemon and of all processes for a candidate, and what a second worker brings.

`python -m benchmarks.cluster` starts a scheduler and workers of Dask on this machine. It evaluates the template of TSP
so many times (`--evaluations`) in the local pool and on the cluster, `--rounds` times in turn, one at once. It says
what each takes: `daemon` is this process, `all` this process, the scheduler, the worker, the zygotes and the programs.
Then it evaluates programs of `--seconds` of CPU time on one worker of one place and on two, and says how much faster
two are: 1.8 times at least is wanted. With nothing else on two cores all of this takes two minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import on_stderr
from behavesim.cluster.runner import Cluster
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool, ProgramPool
from behavesim.task import TaskReference
from behavesim.task.verdict import Solved

from .harness import Way, take_turns

# Takes SECONDS of CPU time on the five instances.
BUSY = """
import time
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    if len(unvisited_nodes) == 49:
        end = time.process_time() + SECONDS / 5
        while time.process_time() < end:
            pass
    return unvisited_nodes[0]
"""
# Programs in progress at once, as by the default window.
IN_FLIGHT = 64


async def evaluated(pool: ProgramPool, program: str, times: int) -> None:
    """Evaluate a program so many times, IN_FLIGHT at once."""
    free = asyncio.Semaphore(IN_FLIGHT)

    async def one() -> None:
        async with free:
            assert isinstance(await pool.evaluate(program), Solved)

    await asyncio.gather(*(one() for _ in range(times)))


def on(cluster: DaskCluster) -> ProgramPool:
    """Return the sandbox of TSP on a cluster."""
    there = Cluster(cluster.address, False, False, on_stderr, Heartbeat())
    return there.functions("tsp", TaskReference("tsp").load(), "search", Limits())


async def overhead(evaluations: int, rounds: int) -> None:
    """Print what an evaluation costs here and on a worker of the same machine."""
    reference = TaskReference("tsp")
    template = reference.load().template
    with tempfile.TemporaryDirectory() as folder, DaskCluster.of(Path(folder), "one") as cluster:
        async with on(cluster) as there, Pool(reference, "search", 1, Limits()) as here:
            for pool in (here, there):
                await evaluated(pool, template, 100)
            ways: dict[str, Way] = {
                "here": lambda: evaluated(here, template, evaluations),
                "there": lambda: evaluated(there, template, evaluations),
            }
            costs = await take_turns(rounds, ways, dict.fromkeys(ways, 1), evaluations)
    here_cost, there_cost = costs["here"], costs["there"]
    for name, local, remote in (
        ("daemon", here_cost.own_ms, there_cost.own_ms),
        ("all", here_cost.cpu_ms, there_cost.cpu_ms),
    ):
        print(f"{name:8} local {local:6.2f} ms   cluster {remote:6.2f} ms   more {remote - local:6.2f} ms")


async def scaling(evaluations: int, seconds: float) -> None:
    """Print how much faster two workers are than one."""
    program = BUSY.replace("SECONDS", str(seconds))
    took: dict[int, float] = {}
    for workers in (1, 2):
        names = [f"worker {number}" for number in range(workers)]
        with tempfile.TemporaryDirectory() as folder, DaskCluster.of(Path(folder), *names) as cluster:
            async with on(cluster) as there:
                await evaluated(there, program, 10 * workers)
                began = time.perf_counter()
                await evaluated(there, program, evaluations)
                took[workers] = time.perf_counter() - began
        print(f"{workers} worker(s): {evaluations / took[workers]:.1f} evaluations a second")
    print(f"two workers are {took[1] / took[2]:.2f} times as fast as one")


START_S = 60.0


@dataclass
class DaskCluster:
    """A scheduler's process and its workers' by name; `folder` takes what they write."""

    folder: Path
    scheduler: subprocess.Popen[bytes]
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def of(cls, folder: Path, *names: str) -> Iterator[DaskCluster]:
        """Start a scheduler and workers of these names, each of one place; end all of them afterwards."""
        file = ["--scheduler-file", str(folder / "scheduler.json")]
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        running = cls(folder, _started(folder / "scheduler.log", "dask_scheduler", *options, *file))
        try:
            for name in names:
                running.join(name)
            yield running
        finally:
            for process in (*running.workers.values(), running.scheduler):
                process.kill()
                process.wait()

    @property
    def address(self) -> str:
        """The text for the setting `workers`; it waits until the scheduler serves."""
        file, deadline = self.folder / "scheduler.json", time.monotonic() + START_S
        while time.monotonic() < deadline:
            if file.exists() and (text := file.read_text()):
                return str(json.loads(text)["address"]).replace("tcp://", "dask://")
            time.sleep(0.02)
        raise AssertionError((self.folder / "scheduler.log").read_text())

    def join(self, name: str, places: int = 1) -> None:
        """Start a worker."""
        options = ["--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--nthreads", str(places), "--name", name]
        file = ["--scheduler-file", str(self.folder / "scheduler.json"), "--local-directory", str(self.folder / name)]
        self.workers[name] = _started(self.folder / f"{name}.log", "dask_worker", *options, *file)

    def serve(self, *names: str) -> None:
        """Have these workers, and no others: start those that do not run, and end the others."""
        for name, process in list(self.workers.items()):
            if name not in names or process.poll() is not None:
                process.kill()
                process.wait()
                del self.workers[name]
        for name in names:
            if name not in self.workers:
                self.join(name)

    def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        """Send a worker a signal."""
        os.kill(self.workers[name].pid, how)


def _started(log: Path, command: str, *options: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{command}", *options], stdout=said, stderr=said, cwd=log.parent
        )


def main() -> None:
    """Read the options, and print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.1)
    given = parser.parse_args()
    asyncio.run(overhead(given.evaluations, given.rounds))
    asyncio.run(scaling(max(40, given.evaluations // 10), given.seconds))


if __name__ == "__main__":
    main()
