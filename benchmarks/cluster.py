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
import statistics
import tempfile
import time
from pathlib import Path

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import on_stderr
from behavesim.cluster.runner import Cluster
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool, SolutionPool
from behavesim.task import TaskReference
from behavesim.task.verdict import Solved

from .dask_processes import DaskCluster
from .process_tree import cpu_of_everything

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


async def evaluated(pool: SolutionPool, program: str, times: int) -> None:
    """Evaluate a program so many times, IN_FLIGHT at once."""
    free = asyncio.Semaphore(IN_FLIGHT)

    async def one() -> None:
        async with free:
            assert isinstance(await pool.evaluate(program), Solved)

    await asyncio.gather(*(one() for _ in range(times)))


async def costs(pool: SolutionPool, program: str, times: int) -> tuple[float, float]:
    """Return the CPU milliseconds of an evaluation, of this process and of all."""
    own, everything = time.process_time(), cpu_of_everything()
    await evaluated(pool, program, times)
    return 1e3 * (time.process_time() - own) / times, 1e3 * (cpu_of_everything() - everything) / times


def on(cluster: DaskCluster) -> SolutionPool:
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
            found = [
                (await costs(here, template, evaluations), await costs(there, template, evaluations))
                for _ in range(rounds)
            ]
    for name, at in (("daemon", 0), ("all", 1)):
        local, remote = (statistics.median(each[side][at] for each in found) for side in (0, 1))
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
