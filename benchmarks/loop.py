"""Measures the CPU time that a run spends around its candidates, beside two other tools: `python -m benchmarks.loop`.

The same task code (`loop_walks.py`), one local chat server that answers after 50 ms with a program nobody wrote
before, eight requests under way. CPU time is that of whole process trees, less what the programs themselves take in a
bare process; the tools take turns. Each peer comes from PyPI into an environment of its own (`--environments`), with
the settings that its documentation recommends for speed (stated in `loop_walks.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from aiohttp import web

from . import loop_walks as walks
from .harness import ProcessTree, adopt_orphans, ended_children_s, reap

SAMPLE_S, LOOKS_A_WEIGHING = 0.05, 20
"""Seconds between two looks at a tool's processes, and looks between two measurements of its memory."""
# Seconds before a kill until which a reply must have been sent to count as arrived.
ARRIVED_S = 0.1
# Smallest number of candidates for which the cost in a part of the run is shown: a tenth of fewer says too little.
LEAST = 1000
# Number of candidates of the run that is killed half-way.
KILLED = 200


@dataclass(frozen=True)
class Measured:
    """One run: CPU seconds, wall time, greatest memory in MiB, and the number of requests that reached the server.

    `whole` says whether it came to its end in the time it had. Of `total_s`, the main process took `main_s` and other
    long-lived ones `helpers_s`. `at_request` has the CPU seconds so far by request number, from 1, for some requests.
    """

    whole: bool
    total_s: float
    main_s: float
    helpers_s: float
    clock_s: float
    peak_mb: float
    requests: int
    at_request: Mapping[int, float]

    def around_ms(self, first: int, last: int, own_ms: float) -> float:
        """Return the CPU ms per candidate between two requests, less the `own_ms` that its program takes."""
        return (self.at_request[last] - self.at_request[first]) / (last - first) * 1e3 - own_ms


def measured(tool: Tool, candidates: int, server: Server, folder: Path, longest_s: float) -> Measured:
    """Run a tool to its end, or kill it after `longest_s`; raises AssertionError if it fails."""
    begun, before, first = time.monotonic(), ended_children_s(), len(server.arrived)
    process = tool.start(server.url, candidates, folder)
    tree, looks = ProcessTree(process.pid), 0
    step = max(1, candidates // 20)
    awaited, marks = [1, *range(step, candidates + 1, step)], dict[int, float]()
    while process.poll() is None and time.monotonic() - begun < longest_s:
        asked = len(server.arrived) - first
        while awaited and asked >= awaited[0]:
            marks[awaited.pop(0)] = tree.total_s()
        tree.look()
        if looks % LOOKS_A_WEIGHING == 0:
            tree.weigh()
        looks += 1
        time.sleep(SAMPLE_S)
    whole = process.poll() is not None
    assert not process.returncode, f"{tool.name} failed with {process.returncode}"
    clock_s, asked = time.monotonic() - begun, len(server.arrived) - first
    tree.kill()
    process.wait()
    reap()
    helpers = sum(spent for pid, spent in tree.lasting.items() if pid != process.pid)
    spent = (ended_children_s() - before, tree.lasting.get(process.pid, 0.0), helpers)
    return Measured(whole, *spent, clock_s, tree.peak_mb, asked, marks)


def lost(tool: Tool, server: Server, folder: Path) -> tuple[int, int]:
    """Kill a run after half its replies; return how many had arrived, and how many of those its folder lacks."""
    first = len(server.sent)
    process = tool.start(server.url, KILLED, folder)
    while len(server.sent) - first < KILLED // 2 + 5 and process.poll() is None:
        time.sleep(0.002)
    killed = time.monotonic()
    ProcessTree(process.pid).kill()
    process.wait()
    reap()
    arrived = sum(at < killed - ARRIVED_S for at in server.sent[first:])
    return arrived, max(0, arrived - tool.kept(folder))


def candidates_own_ms() -> float:
    """Return the CPU ms that a program takes in this process, compiling included: the median of five means of 40."""
    rounds = []
    for turn in range(5):
        begun = time.process_time()
        for number in range(40):
            names: dict[str, object] = {}
            exec(compile(walks.program(10_000 * turn + number), "<candidate>", "exec"), names)
            walks.mean_length(names[walks.ENTRY_POINT])  # type: ignore[arg-type]
        rounds.append((time.process_time() - begun) / 40 * 1e3)
    return statistics.median(rounds)


def row(tool: str, candidates: int, run: Measured, own_ms: float) -> str:
    """Return a line of the table; for a run that did not end, its numbers so far."""
    reached = min(run.requests, candidates)
    of = f"{candidates:,}" if run.whole else f"{reached:,} of {candidates:,}"
    each_ms = 1e3 / reached
    around, main, helpers = run.total_s * each_ms - own_ms, run.main_s * each_ms, run.helpers_s * each_ms
    short = (run.total_s - run.main_s - run.helpers_s) * each_ms
    early, late = _ends(run, own_ms) if reached >= LEAST else ("–", "–")
    cells = f"{around:.1f} | {main:.1f} | {helpers:.1f} | {short:.1f} | {early} | {late}"
    beyond = run.requests - candidates if run.whole else "?"
    rest = f"{run.at_request[1]:.2f} | {reached / run.clock_s:.1f} | {run.peak_mb:.0f} | {beyond}"
    return f"| {tool} | {of} | {cells} | {rest} |"


def _ends(run: Measured, own_ms: float) -> tuple[str, str]:
    """Return the CPU ms around a candidate, as text, in the second tenth of a run and in its last fifth."""
    marks, steps = sorted(run.at_request), len(run.at_request) - 1
    spans = (steps // 10, steps // 5), (steps - steps // 5, steps)
    early, late = (run.around_ms(marks[first], marks[last], own_ms) for first, last in spans)
    return f"{early:.1f}", f"{late:.1f}"


def growth(run: Measured, own_ms: float) -> str:
    """Return a table of the CPU ms around a candidate in each twentieth of a run but the first, and its memory."""
    marks = sorted(run.at_request)[1:]
    rows = [f"| {a:,} to {b:,} | {run.around_ms(a, b, own_ms):.1f} |" for a, b in pairwise(marks)]
    return "\n".join(["| candidates | around |", "|---|---:|", *rows, f"{run.peak_mb:.0f} MB at most"])


FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
# Number of requests that each tool may have under way.
CONNECTIONS = 8


@dataclass(frozen=True)
class Tool:
    """A tool: `command(url, candidates, folder)` runs it, and `kept(folder)` counts the replies stored there."""

    name: str
    command: Callable[[str, int, Path], list[str]]
    kept: Callable[[Path], int]

    def start(self, url: str, candidates: int, folder: Path) -> subprocess.Popen[bytes]:
        """Start a run of so many candidates, which asks the server at `url` and stores its results in `folder`.

        Its output is dropped; errors are shown if the environment has LOOP_VERBOSE.
        """
        keys = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "PYTHONPATH": ""}
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        errors = None if os.environ.get("LOOP_VERBOSE") else subprocess.DEVNULL
        command = self.command(url, candidates, folder)
        return subprocess.Popen(
            command, env={**os.environ, **keys, **threads}, stdout=subprocess.DEVNULL, stderr=errors
        )


def tools(names: list[str], environments: Path) -> list[Tool]:
    """Return the tools of these names: "behavesim", "openevolve" and "llm4ad"; KeyError for another.

    A peer is installed by pip into `environments`/NAME, a virtual environment, if that does not exist. Ours is compiled
    to bytecode, as pip leaves the peers: other installers do not compile, and then each process compiles what it loads.
    """
    kept = {"openevolve": kept_by_openevolve, "llm4ad": _kept_by_llm4ad}
    return [_own() if name == "behavesim" else _peer(name, environments, kept[name]) for name in names]


def _own() -> Tool:
    for folder in (Path(sysconfig.get_path("purelib")), *(ROOT / name for name in ("behavesim", "cli", "offline"))):
        compileall.compile_dir(folder, quiet=2)

    def command(url: str, candidates: int, folder: Path) -> list[str]:
        start = [sys.executable, "-m", "behavesim", "run", str(FOLDER / "loop_task.py"), "--proposer", "openai"]
        where = ["--runs-dir", str(folder), "--name", "run", "--connections", str(CONNECTIONS)]
        return [*start, "--model", "m", "--budget", str(candidates), *where]

    return Tool("behavesim", command, kept_by_behavesim)


def kept_by_behavesim(folder: Path) -> int:
    """Return the number of replies in the journal of the run `run`."""
    with closing(sqlite3.connect(folder / "run" / "run.db")) as db:
        return int(db.execute("SELECT count(*) FROM events WHERE type = 'Responded'").fetchone()[0])


def python_of(environment: Path, requirement: str) -> Path:
    """Return the Python of a virtual environment, which is made with a package from PyPI if it does not exist."""
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", requirement], check=True)
    return python


def _peer(name: str, environments: Path, kept: Callable[[Path], int]) -> Tool:
    start = [str(python_of(environments / name, name)), str(FOLDER / "loop_walks.py"), name]
    return Tool(name, lambda url, n, folder: [*start, url, str(n), str(CONNECTIONS), str(folder)], kept)


def kept_by_openevolve(folder: Path) -> int:
    """Return the number of programs in the largest checkpoint, without the first program; 0 without a checkpoint."""
    checkpoints = folder.glob("out/checkpoints/checkpoint_*/programs")
    return max((len(list(each.glob("*.json"))) - 1 for each in checkpoints), default=0)


def _kept_by_llm4ad(folder: Path) -> int:
    """Return the number of samples in its logs, without the first program; a log that a kill cut off has none."""
    numbers = set()
    for path in folder.rglob("samples_*.json"):
        if "best" not in path.name:
            with suppress(json.JSONDecodeError):
                numbers |= {sample["sample_order"] for sample in json.loads(path.read_text())}
    return max(0, len(numbers) - 1)


LATENCY_S = 0.05


@dataclass
class Server:
    """Answers chat completions at `url`; `arrived` and `sent` are the times of requests and replies (monotonic, s)."""

    url: str = ""
    arrived: list[float] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """Return a chat completion with a new program: in a fenced block, or plain if the model is "plain"."""
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
        """Listen on a free port of 127.0.0.1, and set `url`."""
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Yield a server that answers in a thread of this process; it is in no process tree that is measured."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.begin(), loop).result()
    yield server
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def main() -> None:
    """Read the command line, measure the tools in turn, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--candidates", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache/behavesim-bench")
    parser.add_argument("--tools", nargs="+", default=["behavesim", "openevolve", "llm4ad"])
    parser.add_argument("--longest", type=float, default=1800, help="seconds after which a run is ended")
    parser.add_argument("--long", type=int, help="candidates of one more run of ours, to see it grow")
    parser.add_argument("--kill", action=argparse.BooleanOptionalAction, default=True, help="see what a kill loses")
    arguments = parser.parse_args()
    adopt_orphans()
    compared = tools(arguments.tools, arguments.environments)
    own_ms = candidates_own_ms()
    print(f"a candidate's own evaluation: {own_ms:.2f} CPU ms; all CPU times in ms a candidate")
    print(f"load {os.getloadavg()[0]:.1f}; around at first: the second tenth of a run, at last: its last fifth")
    print("| tool | candidates | around | main | helpers | short-lived | at first | at last "
          "| s to first request | candidates/s | MB | requests beyond |")  # fmt: skip
    print("|---|" + "---:|" * 11, flush=True)
    with serving(Server()) as server, tempfile.TemporaryDirectory() as folder:
        for candidates in arguments.candidates:
            for tool in compared:
                place = Path(folder) / f"{tool.name}-{candidates}"
                run = measured(tool, candidates, server, place, arguments.longest)
                print(row(tool.name, candidates, run, own_ms), flush=True)
        for tool in compared if arguments.kill else ():
            arrived, gone = lost(tool, server, Path(folder) / f"{tool.name}-killed")
            print(f"{tool.name}, killed: {arrived} replies had arrived, {gone} of them lost", flush=True)
        if arguments.long:
            ours = tools(["behavesim"], arguments.environments)[0]
            run = measured(ours, arguments.long, server, Path(folder) / "long", arguments.longest)
            print(growth(run, own_ms), flush=True)
    print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
