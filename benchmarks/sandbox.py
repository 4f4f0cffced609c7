"""What an evaluation in the sandbox costs, against four other ways, in one run: `python benchmarks/sandbox.py`.

Absolute times drift with the machine; the ratios come from interleaved rounds. Run it on an idle machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from behavesim.sandbox import Limits, Pool
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.pool import PRELOADED, SCIENTIFIC
from behavesim.state.protocols import Solved
from behavesim.state.verdict import Failure
from behavesim.task import TaskReference

ROUNDS, PER_ROUND = 9, 10
TASK = '''
import numpy as np
from behavesim.task import Objective, Task
from behavesim.trajectory import Trajectory


class Trivial(Task):
    """Return what you are given."""

    template = "def same(x):\\n    return x\\n"
    objective = Objective("minimise")

    def instances(self, split):
        return [np.arange(10.0)]

    def solve(self, function, instance):
        return function(instance)

    def score(self, instance, solution):
        return float(solution.sum())

    def trajectory(self, instance, solution):
        return Trajectory.vectors(solution[:, None])


task = Trivial()
'''
TRIVIAL = "def same(x):\n    return x\n"
BUSY = """
import time

def same(x):
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    return x
"""
LOOP = "def same(x):\n    while True: pass\n"
SLEEP = "import time\ndef same(x):\n    time.sleep(1000)\n"
DIE = "import os\nos._exit(1)\n"
ALONE = f"import numpy as np\n{TRIVIAL}\nsame(np.arange(10.0)).tobytes()\n"


@dataclass
class Cost:
    """Milliseconds of wall time of each evaluation, and of CPU time per evaluation in each round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def row(self, name: str, base: float) -> str:
        """A row of the table; `base` are the milliseconds of CPU to compare with."""
        cpu = statistics.median(self.cpu)
        return f"| {name} | {statistics.median(self.wall):.1f} | {cpu:.1f} | {base / cpu:.1f} |"


def run_alone() -> None:
    """What each process of the other ways does."""
    exec(compile(ALONE, "candidate", "exec"), {})


def run_into(queue: multiprocessing.Queue[bytes]) -> None:
    """The same, with the result sent back."""
    run_alone()
    queue.put(b"x" * 80)


def spawned() -> None:
    """A process of multiprocessing's for each candidate, started afresh."""
    process = multiprocessing.get_context("spawn").Process(target=run_alone)
    process.start()
    process.join()


def fresh() -> None:
    """An interpreter for each candidate."""
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def forked() -> None:
    """A bare fork of this process for each candidate."""
    if (pid := os.fork()) == 0:
        run_alone()
        os._exit(0)
    os.waitpid(pid, 0)


EXECUTOR = ThreadPoolExecutor(1)


def queued() -> None:
    """A fork with a queue for the result, driven by a thread of an executor, as published code does it."""

    def evaluate() -> bytes:
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=run_into, args=(queue,))
        process.start()
        result: bytes = queue.get()
        process.join()
        return result

    EXECUTOR.submit(evaluate).result()


def in_pool(pool: Pool) -> Callable[[], Awaitable[None]]:
    """Ours."""

    async def evaluate() -> None:
        assert isinstance(await pool.evaluate(TRIVIAL), Solved)

    return evaluate


async def measured(evaluate: Callable[[], Awaitable[None] | None], times: int, cost: Cost) -> None:
    """Evaluate a few times in a row, and add what it cost."""
    before = cpu_of_everything()
    for _ in range(times):
        start = time.perf_counter()
        waiting = evaluate()
        if waiting is not None:
            await waiting
        cost.wall.append(1e3 * (time.perf_counter() - start))
    cost.cpu.append(1e3 * (cpu_of_everything() - before) / times)


def cpu_of_everything() -> float:
    """CPU seconds of this process, its ended children, and the living ones with theirs (the zygotes)."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds) + sum(map(cpu_below, children(os.getpid())))


def cpu_below(pid: int) -> float:
    """CPU seconds of a process, its ended children, and the living ones with theirs; 0 if it has just ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_below, children(pid)))
    return 0.0


def children(pid: int) -> list[int]:
    """The ids of a process's living children."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


@contextlib.asynccontextmanager
async def pools(task: TaskReference) -> AsyncIterator[dict[str, Pool]]:
    """Our ways, by the names they have in the table."""
    async with (
        Pool(task, "search", 1, Limits(), True, (), ()) as bare,
        Pool(task, "search", 1, Limits(), True, LAYERS, ()) as numpy,
        Pool(task, "search", 1, Limits(), True, (), PRELOADED + SCIENTIFIC) as bare_scipy,
        Pool(task, "search", 1, Limits(), True, LAYERS, PRELOADED + SCIENTIFIC) as scipy,
    ):
        yield {
            "zygote with numpy, limits alone": bare,
            f"zygote with numpy, {numpy.isolation}": numpy,
            "zygote with numpy and scipy, limits alone": bare_scipy,
            f"zygote with numpy and scipy, {scipy.isolation}": scipy,
        }


async def compare(task: TaskReference) -> None:
    """Print the table."""
    async with pools(task) as ours:
        ways: dict[str, Callable[[], Awaitable[None] | None]] = {
            "multiprocessing, spawn": spawned, "fresh interpreter": fresh, "bare fork of this process": forked,
            "fork + queue + executor": queued, **{name: in_pool(pool) for name, pool in ours.items()},
        }  # fmt: skip
        costs = {name: Cost() for name in ways}
        await rounds(ways, costs)
        ballast = bytearray(b"x") * (1 << 30)
        beside = {
            f"{name}, beside 1 GB": way
            for name, way in ways.items()
            if name in ("fork + queue + executor", list(ours)[-1])
        }
        costs |= {name: Cost() for name in beside}
        await rounds(beside, costs)
        del ballast
    spawn = statistics.median(costs["multiprocessing, spawn"].cpu)
    print("| way | wall ms | CPU ms | × fewer CPU ms than spawn |\n|---|---|---|---|")
    for name, cost in costs.items():
        print(cost.row(name, spawn))
    bare, closed = (statistics.median(costs[list(ours)[at]].cpu) for at in (0, 1))
    print(f"\nEvery layer together: {closed - bare:+.2f} CPU ms over limits alone.")


async def rounds(ways: dict[str, Callable[[], Awaitable[None] | None]], costs: dict[str, Cost]) -> None:
    """Measure all the ways in turn, again and again."""
    for _ in range(ROUNDS):
        for name, way in ways.items():
            await measured(way, 2 if way in (spawned, fresh) else PER_ROUND, costs[name])


async def responsiveness(task: TaskReference) -> None:
    """Death, timeout, cancel: what passes between the moment and the answer."""
    async with Pool(task, "search", 2, Limits(timeout_s=0.5), True) as pool:
        deaths = [await seconds(pool.evaluate(DIE)) for _ in range(50)]
        overshoots = [await overshoot(pool) for _ in range(7)]
        cancels = [await cancelled(pool) for _ in range(30)]
        lag = await event_loop_lag(pool)
    print(f"\nDeath of a candidate, from its start to the report: median {1e3 * statistics.median(deaths):.1f} ms, "
          f"worst {1e3 * max(deaths):.1f} ms (bar 100)")  # fmt: skip
    wall, cpu = zip(*overshoots, strict=True)
    print(f"Timeout overshoot of a loop, start included: median {1e3 * statistics.median(wall):.1f} ms, worst "
          f"{1e3 * max(wall):.1f} ms of wall time, {1e3 * max(cpu):.1f} ms of CPU time (bar 100)")  # fmt: skip
    print(
        f"Cancel to reap: median {1e3 * statistics.median(cancels):.1f} ms, worst {1e3 * max(cancels):.1f} ms (bar 50)"
    )
    print(f"Event-loop lag with two workers busy: p99 {1e3 * lag:.1f} ms (bar 20)")


async def seconds(evaluation: Awaitable[Solved | Failure]) -> float:
    """How long a failure took to be known."""
    start = time.perf_counter()
    assert isinstance(await evaluation, Failure)
    return time.perf_counter() - start


async def overshoot(pool: Pool) -> tuple[float, float]:
    """The wall time and the CPU time that a loop takes beyond its limit of half a second."""
    start = time.perf_counter()
    failure = await pool.evaluate(LOOP)
    return time.perf_counter() - start - 0.5, failure.cpu_s - 0.5


async def cancelled(pool: Pool) -> float:
    """How long it takes from the cancel until the program is killed and reaped."""
    running = asyncio.create_task(pool.evaluate(SLEEP))
    await asyncio.sleep(0.05)
    start = time.perf_counter()
    running.cancel()
    await asyncio.wait([running])
    return time.perf_counter() - start


async def event_loop_lag(pool: Pool) -> float:
    """The 99th percentile of how late a 5 ms sleep ends while 400 programs are evaluated."""
    work = asyncio.gather(*[pool.evaluate(TRIVIAL) for _ in range(400)])
    lags = []
    while not work.done():
        start = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - start - 0.005)
    return statistics.quantiles(lags, n=100)[98]


async def scaling(task: TaskReference) -> None:
    """Candidates of 0.2 s of CPU: how much faster two workers are than one, interleaved."""
    async with Pool(task, "search", 1, Limits(), True) as one, Pool(task, "search", 2, Limits(), True) as two:
        ratios = []
        for _ in range(5):
            times = []
            for pool in (one, two):
                start = time.perf_counter()
                await asyncio.gather(*[pool.evaluate(BUSY) for _ in range(10)])
                times.append(time.perf_counter() - start)
            ratios.append(times[0] / times[1])
    print(f"Two workers, CPU-bound candidates: {statistics.median(ratios):.2f} × one (bar 1.7)")


async def main() -> None:
    """Run everything on a task that costs nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trivial.py"
        path.write_text(TASK)
        task = TaskReference(str(path))
        await compare(task)
        await responsiveness(task)
        await scaling(task)


if __name__ == "__main__":
    import numpy  # the forks of this process have it, as the zygotes do

    assert numpy
    asyncio.run(main())
