"""Measures what an evaluation in the sandbox costs, beside four other ways: `python benchmarks/sandbox.py`.

Absolute times drift with the machine; the ratios come from interleaved rounds. Run it on an idle machine. It prints how
soon ended, looping and cancelled programs are noticed, too, and how much faster two workers are than one. With
`--scoring` it measures alone what the referee costs beside scoring in a thread.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from process_tree import cpu_of_everything
from sandbox_parts.programs import BUSY, DIE, LOOP, SLEEP, TASK, TRIVIAL
from sandbox_parts.ways import forked, fresh, in_pool, pools, queued, spawned

from behavesim.sandbox.judge import RefereePool
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool
from behavesim.sandbox.referee import VERDICT, Scorer
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure, Sent, Solved
from behavesim.trajectory import unpack

ROUNDS, PER_ROUND = 9, 10
"""Number of rounds, and of evaluations by each way in a round; the two slow ways do two in a round."""


@dataclass
class Cost:
    """Costs of one way: wall time of each evaluation, and the mean CPU time of an evaluation for each round, in ms."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def row(self, name: str, base: float) -> str:
        """Return a row of the table: both medians in ms, and how many times the CPU time is less than `base` ms."""
        cpu = statistics.median(self.cpu)
        return f"| {name} | {statistics.median(self.wall):.1f} | {cpu:.1f} | {base / cpu:.1f} |"


async def measured(evaluate: Callable[[], Awaitable[None] | None], times: int, cost: Cost) -> None:
    """Evaluate `times` times in a row, and add the wall times and the mean CPU time to `cost`.

    What `evaluate` returns is awaited unless it is None.
    """
    before = cpu_of_everything()
    for _ in range(times):
        start = time.perf_counter()
        waiting = evaluate()
        if waiting is not None:
            await waiting
        cost.wall.append(1e3 * (time.perf_counter() - start))
    cost.cpu.append(1e3 * (cpu_of_everything() - before) / times)


async def compare(task: TaskReference) -> None:
    """Measure all ways, two of them also beside 1 GB in this process, and print the table."""
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
    """Measure all ways in turn, ROUNDS times, and add to their `costs`, by name."""
    for _ in range(ROUNDS):
        for name, way in ways.items():
            await measured(way, 2 if way in (spawned, fresh) else PER_ROUND, costs[name])


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
    lags = []
    while not work.done():
        start = time.perf_counter()
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - start - 0.005)
    return statistics.quantiles(lags, n=100)[98]


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
            told, (trajectories, *_) = await referees.ask(VERDICT, sent.data)
            assert not isinstance(told, Failure) and unpack(trajectories)

        async def in_thread() -> None:
            await asyncio.to_thread(here.answer, VERDICT, sent.data)

        ways: dict[str, Callable[[], Awaitable[None] | None]] = {"thread": in_thread, "referee": in_referee}
        costs = {each: Cost() for each in ways}
        for _ in range(2 * ROUNDS):
            for each, way in ways.items():
                await measured(way, 20 * PER_ROUND, costs[each])
    told = (f"{each} {statistics.median(cost.wall):.2f} ms, CPU {statistics.median(cost.cpu):.2f} ms"
            for each, cost in costs.items())  # fmt: skip
    more = statistics.median(b - a for a, b in zip(costs["thread"].cpu, costs["referee"].cpu, strict=True))
    print(f"A verdict on {name}: {'; '.join(told)}: {more:+.2f} ms of CPU time")


async def main() -> None:
    """Measure everything on a task that costs next to nothing."""
    if "--scoring" in sys.argv:
        for name in sys.argv[2:] or ("tsp", "asp", "bin_packing"):
            await scoring(name)
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
