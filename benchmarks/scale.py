"""Where the searching process is the bound on a large cluster: the real process, simulated workers and replies.

`python -m benchmarks.scale [--workers 10 100 1000] [--candidates 5000]` prints a line for each number of workers:
candidates a second, the share of the workers' time that is used, CPU milliseconds of the searching process for a
candidate, how many of them the same search takes with a judge that does nothing, bytes on the wire, and memory. A
process of its own plays the scheduler and the workers, of one place each. A program takes `--seconds` there. What comes
back is a frame of random tours of TSP, which is decoded and scored as always. The window is 4 for each worker.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
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
from behavesim.cluster.facts import facts
from behavesim.cluster.messages import BEAT_S
from behavesim.cluster.pool import Cluster
from behavesim.cluster.wire import HANDSHAKE, SMALL, Line, LineLost
from behavesim.engine.build import wired
from behavesim.engine.caps import Caps
from behavesim.engine.settings import settings_from_person
from behavesim.sandbox import Limits, SandboxJudge
from behavesim.sandbox.frames import decode, encode_solutions
from behavesim.sandbox.judge import verdict_on
from behavesim.state.events import TEMPLATE, Evaluated, Prompt, Reply, RunStarted
from behavesim.state.protocols import Judge, Solved
from behavesim.store.journal import SqliteJournal
from behavesim.task import Task, TaskReference, instances_of
from behavesim.task.verdict import Failure, Verdict

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

    async def schedule(self, listed: dict[str, Any], line: Line) -> None:
        """Answer each question with the list of workers."""
        while await line.receive():
            await line.send({"workers": listed})

    async def work(self, line: Line) -> None:
        """Become ready, and answer each program when its time is over."""
        await line.receive()
        await line.send({"status": "OK"})
        await line.receive()
        await line.send({"facts": facts()})
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
                for job, _, _ in message["run"]:
                    jobs.put_nowait(job)
        finally:
            for task in answering:
                task.cancel()

    async def _answer(self, line: Line, jobs: asyncio.Queue[int]) -> None:
        while True:
            job = await jobs.get()
            await asyncio.sleep(self.seconds)
            message = {"beat": 1, "ran": [[job, [0, "", self.seconds, 1 << 25], next(self.frames), None]]}
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


class Numbered:
    """Answers at once with the template and the candidate's number, so that no two programs are equal."""

    def __init__(self, template: str) -> None:
        self._template = template

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply; the prompt is not read."""
        return Reply(f"```python\n{self._template}\n\nweight = {number + 1}\n```\n", "null")


class Idle:
    """A judge that does nothing: its verdicts were made before, of the frames that come otherwise."""

    def __init__(self, task: Task) -> None:
        instances = instances_of(task, "search")
        read = (decode(frame, INSTANCES) for frame in frames())
        solved = [Solved(each, 0.1) for each in read if not isinstance(each, Failure)]
        self._verdicts = cycle([verdict_on(task, instances, each) for each in solved])

    async def evaluate(self, source: str) -> Verdict | Failure:
        """Return the next verdict."""
        return next(self._verdicts)


@dataclass(frozen=True)
class Measured:
    """What a search took: wall-clock and CPU seconds of this process, and its peak memory in MB."""

    wall_s: float
    cpu_s: float
    memory_mb: float


async def searched(task: Task, judge: Judge, method: str, candidates: int, window: int) -> Measured:
    """Search with a judge and replies that cost nothing, and return what that took."""
    given = {"task": "tsp", "method": method, "budget": candidates, "window": window, "recommend": False}
    settings = settings_from_person(given, task=task)
    caps = Caps(settings.budget, lambda model, tokens: 0.0, Heartbeat())
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteJournal(Path(folder) / "run.db") as journal:
            search = wired(settings, task, Numbered(task.template), judge, journal, caps)
            verdict = await judge.evaluate(task.template)
            assert isinstance(verdict, Verdict), verdict
            template = Evaluated(TEMPLATE, task.template, verdict.score, verdict.scores, verdict.trajectories)
            for event in (RunStarted(settings.flat(), {"direction": "minimise"}, "none"), template):
                await journal.append([event])
                search.fold(event)
            wall, cpu = time.perf_counter(), time.process_time()
            await search.run()
            took = time.perf_counter() - wall, time.process_time() - cpu
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


async def measure(workers: int, seconds: float, candidates: int, method: str) -> None:
    """Print the line of so many workers."""
    task, bytes_sent = TaskReference("tsp").load(), []
    window = 4 * workers
    async with players(workers, seconds, bytes_sent) as address:
        cluster = Cluster(address, True, False, on_stderr, Heartbeat(), window)
        async with cluster.functions("tsp", task, "search", Limits()) as pool:
            found = await searched(task, SandboxJudge(task, "search", pool), method, candidates, window)
    alone = await searched(task, Idle(task), method, candidates, window)
    used = candidates * seconds / (found.wall_s * workers)
    each = [1e3 * took.cpu_s / candidates for took in (found, alone)]
    print(
        f"{workers:7} {candidates / found.wall_s:12.0f} {100 * used:7.0f} % {each[0]:12.2f} {each[1]:14.2f} "
        f"{sum(bytes_sent) / candidates / 1e3:14.1f} {found.memory_mb:9.0f}",
        flush=True,
    )


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
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if given.play:
            runner.run(play(int(given.play[0]), float(given.play[1])))
            return
        print("workers candidates/s workers used  CPU ms each  without cluster  kB on the wire  MB memory")
        for workers in given.workers:
            runner.run(measure(workers, given.seconds, given.candidates, given.method))


if __name__ == "__main__":
    main()
