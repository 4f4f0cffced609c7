"""Where the searching process is the bound on a large cluster: the real process, simulated workers and replies.

`python -m benchmarks.scale [--workers 10 100 1000] [--candidates 5000]` prints a line for each number of workers:
candidates a second, the share of the workers' time that is used, CPU milliseconds of the searching process for a
candidate, how many of them are spent in the event loop, in the thread of the journal and in the threads that read
replies and compare, how many the same search takes with a judge that does nothing, kilobytes on the wire, and memory.

Then it resumes the last of these runs for ten candidates and reports on it, and prints what that took. So
`--workers 100 --candidates 100000` shows a long run (7 minutes on a quiet machine).

A process of its own plays the scheduler and the workers, of one place each. A program takes `--seconds` there. What
comes back is a frame of random tours of TSP, which is decoded and scored as always. The window is 4 for each worker.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import uvloop

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import on_stderr
from behavesim.cluster.protocol import BEAT_S, HANDSHAKE, SMALL, Line, LineLost, as_values
from behavesim.cluster.runner import Cluster
from behavesim.cluster.task_files import platform_facts
from behavesim.sandbox.connection import RawResult
from behavesim.sandbox.frames import decode, encode_solutions
from behavesim.sandbox.judge import RefereePool, SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import ProcessEnd
from behavesim.sandbox.referee import verdict_on
from behavesim.state.events import RunResumed
from behavesim.state.protocols import Judge
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task import Task, TaskReference, instances_of
from behavesim.task.verdict import Failure, Solved, Verdict

from .long_runs import begun_search, settings_of

CITIES, INSTANCES, FRAMES = 50, 5, 200


def frames() -> list[bytes]:
    """Return frames of random tours, as a program's process would send them."""
    draw = np.random.default_rng(0)
    tours = [[np.append(0, 1 + draw.permutation(CITIES - 1)) for _ in range(INSTANCES)] for _ in range(FRAMES)]
    return [encode_solutions([{"": tour} for tour in each], 1 << 20) for each in tours]


@dataclass
class Player:
    """Plays a scheduler and workers; `seconds` is what a program takes, `received` counts bytes that came."""

    seconds: float
    received: int = 0
    sent: int = 0
    frames: Any = field(default_factory=lambda: cycle(frames()))
    facts: dict[str, str] = field(
        default_factory=platform_facts
    )  # read once: a thousand workers would read it for seconds

    async def schedule(self, listed: dict[str, Any], line: Line) -> None:
        """Answer each question with the list of workers."""
        while await line.receive():
            await line.send({"workers": listed})

    async def work(self, line: Line) -> None:
        """Become ready, and answer each program when its time is over."""
        await line.receive()
        await line.send({"status": "OK"})
        await line.receive()
        await line.send({"facts": self.facts})
        while (await line.receive())["file"]:
            pass
        await line.send({"beat": 1, "ready": ["strong+", [], 1]})
        loop = asyncio.get_running_loop()
        jobs: asyncio.Queue[int] = asyncio.Queue()
        answering = [loop.create_task(self._answer(line, jobs)), loop.create_task(self._beat(line))]
        try:
            while True:
                message = await line.receive()
                self.received += len(msgpack.packb(message))
                for job, *_ in message["run"]:
                    jobs.put_nowait(job)
        finally:
            for task in answering:
                task.cancel()

    async def _answer(self, line: Line, jobs: asyncio.Queue[int]) -> None:
        while True:
            job = await jobs.get()
            await asyncio.sleep(self.seconds)
            ran = RawResult(ProcessEnd(job, 0, "", self.seconds, 1 << 25), next(self.frames))
            message = {"beat": 1, "ran": [as_values(job, ran)]}
            self.sent += len(msgpack.packb(message))
            await line.send(message)

    async def _beat(self, line: Line) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            await line.send({"beat": 1})


async def play(workers: int, seconds: float) -> None:
    """Serve a scheduler and so many workers until standard input closes; print its address, then the bytes."""
    player, listed = Player(seconds), {}

    async def served(conversation: Any) -> str:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = Line(reader, writer, SMALL)
            with suppress(LineLost):
                await line.send(HANDSHAKE)
                await line.receive()
                await conversation(line)
            writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1000)
        return f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

    for number in range(workers):
        listed[f"tcp://{await served(player.work)}"] = {"name": number, "status": "running"}
    print(await served(lambda line: player.schedule(listed, line)), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps([player.received, player.sent]), flush=True)


class Idle:
    """A judge that does nothing: its verdicts were made before, of the frames that come otherwise."""

    def __init__(self, task: Task) -> None:
        instances = instances_of(task, "search")
        read = (decode(frame, INSTANCES) for frame in frames())
        solved = [Solved(each, 0.1) for each in read if not isinstance(each, Failure)]
        self._verdicts = cycle([verdict_on(task, instances, each) for each in solved])

    async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
        """Return the next verdict."""
        return next(self._verdicts)


@dataclass(frozen=True)
class Measured:
    """What a search took: seconds by the clock, CPU seconds as `threads` has them, and peak memory in MB."""

    wall_s: float
    threads: dict[str, float]
    memory_mb: float


def threads() -> dict[str, float]:
    """Return the CPU seconds that the loop, the journal's thread and the others of this process have taken."""
    took = {"loop": 0.0, "journal": 0.0, "others": 0.0}
    for thread in threading.enumerate():
        clock = time.pthread_getcpuclockid(thread.ident or 0)
        name = "journal" if "connection" in thread.name else "others"  # as aiosqlite calls its thread
        took["loop" if thread is threading.main_thread() else name] += time.clock_gettime(clock)
    return took


async def searched(folder: RunFolder, task: Task, judge: Judge, method: str, candidates: int, window: int) -> Measured:
    """Search with a judge and replies that cost nothing, and return what that took."""
    settings = settings_of(method, candidates, task, window=window)
    async with begun_search(folder, settings, task, judge) as search:
        wall, before = time.perf_counter(), threads()
        await search.run()
        took = time.perf_counter() - wall, {name: cpu_s - before[name] for name, cpu_s in threads().items()}
    return Measured(*took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


@asynccontextmanager
async def players(workers: int, seconds: float, sent: list[int]) -> AsyncIterator[str]:
    """Yield the address of a played scheduler; afterwards `sent` has the bytes to and from the workers."""
    command = (sys.executable, "-m", "benchmarks.scale", "--play", str(workers), str(seconds))
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=1 << 20)
    assert process.stdin and process.stdout, "they are pipes"
    yield "dask://" + (await process.stdout.readline()).decode().strip()
    process.stdin.close()
    sent += json.loads(await process.stdout.readline())
    await process.wait()


async def measure(folder: RunFolder, workers: int, seconds: float, candidates: int, method: str) -> None:
    """Print the line of so many workers, whose run is in the folder afterwards."""
    task, bytes_sent = TaskReference("tsp").load(), []
    window = 4 * workers
    async with players(workers, seconds, bytes_sent) as address:
        cluster = Cluster(address, True, False, on_stderr, Heartbeat(), window)
        pool = cluster.functions("tsp", task, "search", Limits())
        async with SandboxJudge(task, pool, RefereePool(TaskReference("tsp"), "search", Limits())) as judge:
            found = await searched(folder, task, judge, method, candidates, window)
    with tempfile.TemporaryDirectory() as other:
        alone = await searched(RunFolder(Path(other) / "alone"), task, Idle(task), method, candidates, window)
    used = candidates * seconds / (found.wall_s * workers)
    each = {name: 1e3 * cpu_s / candidates for name, cpu_s in found.threads.items()}
    print(
        f"{workers:7} {candidates / found.wall_s:12.0f} {100 * used:7.0f} % {sum(each.values()):12.2f} "
        f"{each['loop']:6.2f} {each['journal']:8.2f} {each['others']:7.2f} "
        f"{1e3 * sum(alone.threads.values()) / candidates:11.2f} {sum(bytes_sent) / candidates / 1e3:14.1f} "
        f"{found.memory_mb:5.0f}",
        flush=True,
    )


def afterwards(folder: RunFolder, candidates: int) -> None:
    """Resume the run for ten more candidates and report on it; print what each takes."""
    print(f"the journal of {candidates} candidates has {folder.journal.stat().st_size / 1e6:.0f} MB")
    begun, cpu_s, memory_mb = commanded("resume", folder, "--budget", str(candidates + 10))
    ready = next(at for _, at, _ in read_events(folder.journal, only=(RunResumed,)))
    print(f"resume: goes on after {ready - begun:.1f} s; with its end {cpu_s:.1f} CPU s, {memory_mb:.0f} MB")
    for options in ((), ("--full",), ("--json",)):
        _, cpu_s, memory_mb = commanded("report", folder, *options)
        print(f"{' '.join(('report', *options))}: {cpu_s:.1f} CPU s, {memory_mb:.0f} MB")


def commanded(command: str, folder: RunFolder, *options: str) -> tuple[float, float, float]:
    """Run a command on the run; return when it began, its CPU seconds, and its peak memory in MB."""
    words = ["-c", "from behavesim_cli.app import main; main()", command, folder.run, *options]
    begun = time.time()
    with subprocess.Popen([sys.executable, *words, "--runs-dir", folder.path.parent], stdout=DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def main() -> None:
    """Read the options, and print a line for each number of workers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--candidates", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--method", default="funsearch")
    parser.add_argument("--play", nargs=2, default=None)
    given = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, tempfile.TemporaryDirectory() as runs:
        if given.play:
            runner.run(play(int(given.play[0]), float(given.play[1])))
            return
        print("workers candidates/s workers used  CPU ms each   loop  journal  others  no cluster  kB on the wire   MB")
        for workers in given.workers:
            folder = RunFolder(Path(runs) / f"of-{workers}")
            runner.run(measure(folder, workers, given.seconds, given.candidates, given.method))
        afterwards(folder, given.candidates)


if __name__ == "__main__":
    main()
