"""Measures what an evaluation in the sandbox costs, beside four other ways: `python -m benchmarks.sandbox`.

Run it on an idle machine. It prints how
soon ended, looping and cancelled programs are noticed, too, and how much faster two workers are than one. With
`--scoring` it measures alone what the referee costs beside scoring in a thread. With `--evaluator` it measures alone
what an evaluator that does nothing costs, beside a fresh interpreter for each program.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvloop

from behavesim.evaluators.evaluation import EvaluatorJudge, evaluator_pool
from behavesim.sandbox.judge import RefereePool
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import PRELOADED, SCIENTIFIC, Pool
from behavesim.sandbox.referee import VERDICT, Scorer
from behavesim.task import TaskReference
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.verdict import Failure, Sent, Solved, Verdict
from behavesim.trajectory import unpack

from .harness import Cost, Way, lateness, take_turns

# Source of a task on which a program returns the ten numbers that it is given.
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
# Program that takes 0.2 s of CPU time.
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
# LOOP never ends, SLEEP sleeps for 1000 s, and DIE ends its process with exit code 1 as it is loaded.
DIE = "import os\nos._exit(1)\n"
ALONE = f"import numpy as np\n{TRIVIAL}\nsame(np.arange(10.0)).tobytes()\n"


ROUNDS, PER_ROUND = 9, 10
"""Number of rounds, and of evaluations by each way in a round; the two slow ways do two in a round."""


async def compare(task: TaskReference) -> None:
    """Measure all ways, two of them also beside 1 GB in this process, and print the table."""
    async with pools(task) as ours:
        ways: dict[str, Way] = {
            "multiprocessing, spawn": spawned, "fresh interpreter": fresh, "bare fork of this process": forked,
            "fork + queue + executor": queued, **{name: in_pool(pool) for name, pool in ours.items()},
        }  # fmt: skip
        costs = await compared(ways)
        ballast = bytearray(b"x") * (1 << 30)
        beside = {
            f"{name}, beside 1 GB": way
            for name, way in ways.items()
            if name in ("fork + queue + executor", list(ours)[-1])
        }
        costs |= await compared(beside)
        del ballast
    spawn = costs["multiprocessing, spawn"].cpu_ms
    print("| way | wall ms | CPU ms | × fewer CPU ms than spawn |\n|---|---|---|---|")
    for name, cost in costs.items():
        print(f"| {name} | {cost.wall_ms:.1f} | {cost.cpu_ms:.1f} | {spawn / cost.cpu_ms:.1f} |")
    bare, closed = (costs[list(ours)[at]].cpu_ms for at in (0, 1))
    print(f"\nEvery layer together: {closed - bare:+.2f} CPU ms over limits alone.")


async def compared(ways: dict[str, Way]) -> dict[str, Cost]:
    """Return what each way costs, by name."""
    times = {name: 2 if way in (spawned, fresh) else PER_ROUND for name, way in ways.items()}
    return await take_turns(ROUNDS, ways, times)


async def responsiveness(task: TaskReference) -> None:
    """Print how soon the end, a timeout and a cancel of a program are noticed, and how late the event loop is."""
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
    """Return the seconds until an evaluation has returned a Failure; raises AssertionError if it returns another."""
    start = time.perf_counter()
    assert isinstance(await evaluation, Failure)
    return time.perf_counter() - start


async def overshoot(pool: Pool) -> tuple[float, float]:
    """Return the seconds of wall time and of CPU time that an endless program takes beyond its limit of 0.5 s."""
    start = time.perf_counter()
    failure = await pool.evaluate(LOOP)
    return time.perf_counter() - start - 0.5, failure.cpu_s - 0.5


async def cancelled(pool: Pool) -> float:
    """Return the seconds from the cancel of an evaluation until it has ended, its program killed and reaped."""
    running = asyncio.create_task(pool.evaluate(SLEEP))
    await asyncio.sleep(0.05)
    start = time.perf_counter()
    running.cancel()
    await asyncio.wait([running])
    return time.perf_counter() - start


async def event_loop_lag(pool: Pool) -> float:
    """Return the 99th percentile of the seconds by which sleeps of 5 ms end late while 400 programs are evaluated."""
    work = asyncio.gather(*[pool.evaluate(TRIVIAL) for _ in range(400)])
    return statistics.quantiles(await lateness(work, 0.005), n=100)[98]


async def scaling(task: TaskReference) -> None:
    """Print how many times faster two workers are than one on programs of 0.2 CPU s: the median of five turns."""
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


async def scoring(name: str) -> None:
    """Print what a verdict on an installed task's template costs in the referee, and in a thread of this process."""
    reference, limits = TaskReference(name), Limits()
    task = reference.load()
    async with Pool(reference, "search", 1, limits, True) as pool:
        sent = await pool.send(task.template)
    assert isinstance(sent, Sent), sent
    here = Scorer(task, "search", limits)
    async with RefereePool(reference, "search", limits) as referees:

        async def in_referee() -> None:
            told, trajectories = await referees.ask(VERDICT, sent.data)
            assert not isinstance(told, Failure) and unpack(bytes(trajectories))

        async def in_thread() -> None:
            await asyncio.to_thread(here.answer, VERDICT, sent.data)

        ways: dict[str, Way] = {"thread": in_thread, "referee": in_referee}
        costs = await take_turns(2 * ROUNDS, ways, dict.fromkeys(ways, 20 * PER_ROUND))
    told = (f"{each} {cost.wall_ms:.2f} ms, CPU {cost.cpu_ms:.2f} ms" for each, cost in costs.items())
    more = statistics.median(b - a for a, b in zip(costs["thread"].cpu, costs["referee"].cpu, strict=True))
    print(f"A verdict on {name}: {'; '.join(told)}: {more:+.2f} ms of CPU time")


# An evaluator that does nothing, and loads numpy as most do.
EVALUATOR = """
import numpy as np

def evaluate(program_path):
    return {"combined_score": float(np.ones(3).sum())}
"""


async def evaluator() -> None:
    """Print what an evaluation by an evaluator costs in the sandbox, and in a fresh interpreter."""
    program = "x = 1\n"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "evaluator.py").write_text(EVALUATOR)
        (folder / "initial.py").write_text(program)
        file = EvaluatorFile("openevolve", str(folder / "evaluator.py"), str(folder / "initial.py"))
        async with evaluator_pool(file, 1, Limits(timeout_s=60.0), True, None) as pool:
            judge = EvaluatorJudge(pool)

            async def ours() -> None:
                assert isinstance(await judge.evaluate(program), Verdict)

            async def fresh() -> None:
                code = f"{EVALUATOR}\nevaluate('initial.py')"
                await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], check=True)

            await ours()
            ways: dict[str, Way] = {"sandbox of evaluators": ours, "fresh interpreter": fresh}
            costs = await take_turns(ROUNDS, ways, dict(zip(ways, (PER_ROUND, 2), strict=True)))
    print(f"isolation {pool.isolation}\n\n| way | wall ms | CPU ms |\n|---|---|---|")
    for way, cost in costs.items():
        print(f"| {way} | {cost.wall_ms:.1f} | {cost.cpu_ms:.1f} |")
    inside, outside = costs.values()
    print(
        f"\n{statistics.median(b / a for a, b in zip(inside.cpu, outside.cpu, strict=True)):.0f} times less CPU time."
    )


def run_alone() -> None:
    """Compile and run the trivial program in this process, without a sandbox."""
    exec(compile(ALONE, "candidate", "exec"), {})


def run_into(queue: multiprocessing.Queue[bytes]) -> None:
    """Run the trivial program as `run_alone` does, then put 80 bytes into the queue."""
    run_alone()
    queue.put(b"x" * 80)


def spawned() -> None:
    """Evaluate in a process that multiprocessing starts afresh ("spawn"), and wait for its end."""
    process = multiprocessing.get_context("spawn").Process(target=run_alone)
    process.start()
    process.join()


def fresh() -> None:
    """Evaluate in a fresh Python interpreter; raises CalledProcessError if it fails."""
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def forked() -> None:
    """Evaluate in a bare fork of this process, and wait for its end."""
    if (pid := os.fork()) == 0:
        run_alone()
        os._exit(0)
    os.waitpid(pid, 0)


EXECUTOR = ThreadPoolExecutor(1)


def queued() -> None:
    """Evaluate in a fork with a queue for the result, started by an executor's thread, as published code does it."""

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
    """Return a function that evaluates the trivial program in the pool; AssertionError if that fails."""

    async def evaluate() -> None:
        assert isinstance(await pool.evaluate(TRIVIAL), Solved)

    return evaluate


@contextlib.asynccontextmanager
async def pools(task: TaskReference) -> AsyncIterator[dict[str, Pool]]:
    """Enter four pools of one worker each, and yield them by their names in the table.

    They have numpy loaded, or numpy and scipy, and only limits or every layer of isolation that this machine has.
    """
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


async def main() -> None:
    """Measure everything on a task that costs next to nothing."""
    if "--scoring" in sys.argv:
        for name in sys.argv[2:] or ("tsp", "asp", "bin_packing"):
            await scoring(name)
        return
    if "--evaluator" in sys.argv:
        await evaluator()
        return
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
    uvloop.run(main())
