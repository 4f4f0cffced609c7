"""What a run spends around its candidates, beside two other tools: `python benchmarks/loop.py`.

The same task code (`loop_parts/walks.py`), one local chat server that answers after 50 ms with a program nobody wrote
before, eight requests under way. CPU time is that of whole process trees, less what the programs themselves take in a
bare process; the tools take turns. Each peer comes from PyPI into an environment of its own (`--environments`), with
the settings that its documentation recommends for speed (stated in `loop_parts`).
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import json
import os
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

PARTS = Path(__file__).with_name("loop_parts")
sys.path.insert(0, str(PARTS))

import walks  # noqa: E402 - it stands among the parts

CONNECTIONS, LATENCY_S, SAMPLE_S = 8, 0.05, 0.05
ARRIVED_S = 0.1
"""A reply that was sent so long before a kill had arrived."""
TICK = os.sysconf("SC_CLK_TCK")
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: what a tool leaves behind is ours to wait for, and so to count


@dataclass
class Server:
    """Answers chat completions, and notes when."""

    url: str = ""
    arrived: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """A program, fenced but for who wants it plain."""
        model = (await request.json())["model"]
        number = len(self.arrived)
        self.arrived.append(time.monotonic())
        await asyncio.sleep(LATENCY_S)
        code = walks.program(number)
        text = code if model == "plain" else f"```python\n{code}```\n"
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 900, "completion_tokens": 120, "total_tokens": 1020}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "c", "object": "chat.completion", "created": 1, "model": model}
        self.sent.append(time.monotonic())
        return web.json_response({**answer, "choices": [choice], "usage": usage})

    async def begin(self) -> None:
        """Listen on a free port of this machine."""
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"


@contextmanager
def serving() -> Iterator[Server]:
    """A server in a thread of this process, which is no part of any tree that is measured."""
    server, loop = Server(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.begin(), loop).result()
    yield server
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


@dataclass(frozen=True)
class Tool:
    """How a tool is run, and how many replies its folder holds."""

    name: str
    command: Callable[[str, int, Path], list[str]]
    kept: Callable[[Path], int]


def own() -> Tool:
    """The project itself, with its default method, which alone compares what programs do."""

    def command(url: str, candidates: int, folder: Path) -> list[str]:
        start = [sys.executable, "-m", "behavesim", "run", str(PARTS / "own_task.py"), "--proposer", "openai"]
        where = ["--runs-dir", str(folder), "--name", "run", "--connections", str(CONNECTIONS)]
        return [*start, "--model", "m", "--budget", str(candidates), *where]

    def kept(folder: Path) -> int:
        with closing(sqlite3.connect(folder / "run" / "run.db")) as db:
            return int(db.execute("SELECT count(*) FROM events WHERE type = 'Responded'").fetchone()[0])

    return Tool("behavesim", command, kept)


def peer(name: str, environments: Path, kept: Callable[[Path], int]) -> Tool:
    """A peer in its own environment, which is made where it is not there yet."""
    python = environments / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environments / name], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", name], check=True)
    script = str(PARTS / f"{name}_run.py")
    return Tool(name, lambda url, n, folder: [str(python), script, url, str(n), str(CONNECTIONS), str(folder)], kept)


def kept_by_openevolve(folder: Path) -> int:
    """Programs of the last whole checkpoint, the first program left out."""
    checkpoints = folder.glob("out/checkpoints/checkpoint_*/programs")
    return max((len(list(each.glob("*.json"))) - 1 for each in checkpoints), default=0)


def kept_by_llm4ad(folder: Path) -> int:
    """Samples in its log, the template left out."""
    logs = [path for path in folder.rglob("samples_*.json") if "best" not in path.name]
    numbers = {sample["sample_order"] for path in logs for sample in json.loads(path.read_text())}
    return max(0, len(numbers) - 1)


@dataclass
class Tree:
    """The CPU seconds of a process tree, its long-lived processes by themselves, and its memory at most."""

    root: int
    lasting: dict[int, float] = field(default_factory=dict)
    seen_at: dict[int, float] = field(default_factory=dict)
    peak_mb: float = 0.0

    def total_s(self) -> float:
        """CPU seconds up to now: each living process's own and that of the children it has waited for."""
        return sum(sum(ticks) for ticks in self._ticks().values())

    def look(self, with_memory: bool) -> None:
        """Take in how things stand."""
        now, ticks = time.monotonic(), self._ticks()
        for pid, (spent, _) in ticks.items():
            self.seen_at.setdefault(pid, now)
            if now - self.seen_at[pid] > 1.0:
                self.lasting[pid] = spent
        if with_memory:
            self.peak_mb = max(self.peak_mb, sum(map(_proportional_mb, ticks)))

    def _ticks(self) -> Mapping[int, tuple[float, float]]:
        """Own seconds and those of waited-for children, of every living process of the tree."""
        parents: dict[int, list[int]] = {}
        spent: dict[int, tuple[float, float]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError, IndexError):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    times = [int(each) / TICK for each in fields[11:15]]
                    parents.setdefault(int(fields[1]), []).append(int(entry.name))
                    spent[int(entry.name)] = times[0] + times[1], times[2] + times[3]
        found, rest = {}, [self.root]
        while rest:
            pid = rest.pop()
            if pid in spent:
                found[pid] = spent[pid]
                rest += parents.get(pid, [])
        return found


def _proportional_mb(pid: int) -> float:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024
    return 0.0


@dataclass(frozen=True)
class Measured:
    """One run: CPU seconds, the clock, memory, requests, and the CPU seconds at some of them, the first included."""

    total_s: float
    main_s: float
    helpers_s: float
    clock_s: float
    peak_mb: float
    requests: int
    at_request: Mapping[int, float]


def measured(tool: Tool, candidates: int, server: Server, folder: Path) -> Measured:
    """Run a tool to its end."""
    begun, before = time.monotonic(), _children_s()
    first = len(server.arrived)
    process = subprocess.Popen(
        tool.command(server.url, candidates, folder), env=_environment(server), stdout=subprocess.DEVNULL, stderr=_log()
    )
    tree, marks, looks = Tree(process.pid), {}, 0
    while process.poll() is None:
        asked = len(server.arrived) - first
        for mark in {1, candidates // 10, candidates // 5, 4 * candidates // 5, candidates}:
            if asked >= mark and mark not in marks:
                marks[mark] = tree.total_s()
        tree.look(with_memory=looks % 20 == 0)
        looks += 1
        time.sleep(SAMPLE_S)
    assert process.returncode == 0, f"{tool.name} failed with {process.returncode}"
    clock_s = time.monotonic() - begun
    _reap()
    lasting = dict(tree.lasting)
    main_s = lasting.pop(process.pid, 0.0)
    spent = (_children_s() - before, main_s, sum(lasting.values()))
    return Measured(*spent, clock_s, tree.peak_mb, len(server.arrived) - first, marks)


def lost(tool: Tool, candidates: int, server: Server, folder: Path) -> tuple[int, int]:
    """Kill a run after half its replies; returns how many had arrived, and how many of those are nowhere."""
    first = len(server.sent)
    process = subprocess.Popen(
        tool.command(server.url, candidates, folder), env=_environment(server), stdout=subprocess.DEVNULL, stderr=_log()
    )
    while len(server.sent) - first < candidates // 2 + 5 and process.poll() is None:
        time.sleep(0.002)
    killed = time.monotonic()
    tree = Tree(process.pid)
    for pid in tree._ticks():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    _reap()
    arrived = sum(at < killed - ARRIVED_S for at in server.sent[first:])
    return arrived, max(0, arrived - tool.kept(folder))


def candidates_own_ms() -> float:
    """CPU milliseconds that a program takes in a process that does nothing else, compiling included."""
    rounds = []
    for turn in range(5):
        begun = time.process_time()
        for number in range(40):
            names: dict[str, object] = {}
            exec(compile(walks.program(10_000 * turn + number), "<candidate>", "exec"), names)
            walks.mean_length(names[walks.ENTRY_POINT])  # type: ignore[arg-type]
        rounds.append((time.process_time() - begun) / 40 * 1e3)
    return statistics.median(rounds)


def _environment(server: Server) -> dict[str, str]:
    keys = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "PYTHONPATH": ""}
    return {**os.environ, **keys, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _log() -> int | None:
    return None if os.environ.get("LOOP_VERBOSE") else subprocess.DEVNULL


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reap() -> None:
    """Wait for what a tool left behind; what goes on all the same is ended."""
    me, deadline = os.getpid(), time.monotonic() + 5
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0 and time.monotonic() > deadline:
            for orphan in Tree(me)._ticks().keys() - {me}:
                with suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
        time.sleep(0.01)


def row(tool: str, candidates: int, run: Measured, own_ms: float) -> str:
    """A line of the table."""
    around = run.total_s / candidates * 1e3 - own_ms
    main, helpers = run.main_s / candidates * 1e3, run.helpers_s / candidates * 1e3
    short = (run.total_s - run.main_s - run.helpers_s) / candidates * 1e3
    marks = run.at_request
    early = (marks[candidates // 5] - marks[candidates // 10]) / (candidates // 5 - candidates // 10)
    late = (marks[candidates] - marks[4 * candidates // 5]) / (candidates - 4 * candidates // 5)
    cells = f"{around:.1f} | {main:.1f} | {helpers:.1f} | {short:.1f} | {late * 1e3 - own_ms:.1f} | {late / early:.2f}"
    rest = f"{marks[1]:.2f} | {candidates / run.clock_s:.1f} | {run.peak_mb:.0f} | {run.requests - candidates}"
    return f"| {tool} | {candidates:,} | {cells} | {rest} |"


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--candidates", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache/behavesim-bench")
    parser.add_argument("--tools", nargs="+", default=["behavesim", "openevolve", "llm4ad"])
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    kept = {"openevolve": kept_by_openevolve, "llm4ad": kept_by_llm4ad}
    tools = [
        own() if name == "behavesim" else peer(name, arguments.environments, kept[name]) for name in arguments.tools
    ]
    own_ms = candidates_own_ms()
    print(f"a candidate's own evaluation: {own_ms:.2f} CPU ms; all CPU times in ms a candidate")
    print("| tool | candidates | around | main | helpers | short-lived | around, last fifth | growth "
          "| s to first request | candidates/s | MB | requests beyond |")  # fmt: skip
    print("|---|" + "---:|" * 11)
    with serving() as server, tempfile.TemporaryDirectory() as folder:
        for candidates in arguments.candidates:
            for tool in tools:
                run = measured(tool, candidates, server, Path(folder) / f"{tool.name}-{candidates}")
                print(row(tool.name, candidates, run, own_ms), flush=True)
        for tool in tools:
            arrived, gone = lost(tool, 200, server, Path(folder) / f"{tool.name}-killed")
            print(f"{tool.name}, killed: {arrived} replies had arrived, {gone} of them lost", flush=True)


if __name__ == "__main__":
    main()
