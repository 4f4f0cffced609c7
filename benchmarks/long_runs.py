"""Measures long runs, with a proposer and a judge that do nothing.

`python -m benchmarks.long_runs [--candidates 20000] [--method funsearch] [--race 0]` says whether a long run stays as
fast and as small as a short one. It prints a line for every thousand candidates: the CPU milliseconds of each candidate
(all but model and sandbox), how many of them went into similarity, the resident memory, and the longest turn of the
event loop so far, in milliseconds of its thread's CPU time and by the clock; at most 20 are wanted at 3 000. What a
race costs the loop is the difference to a run with `--race 60`; at most 1 ms is wanted.

`python -m benchmarks.long_runs --resume [--candidates 10000] [--method funsearch+behavesim]` says how long a resumed
run takes to its first new evaluation, the start of the process included; at most 3 s are wanted. It writes a journal of
so many candidates of the task tsp, with made-up verdicts, and has `behavesim resume` go on with it three times.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.base.config import Settings
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine.admission import run_provenance, settings_from_person
from behavesim.engine.build import assemble_search, race_template
from behavesim.engine.caps import Caps
from behavesim.engine.loop import Search
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Evaluated, Event, NotAdded, Prompt, Rejected, Reply, RunStarted
from behavesim.state.protocols import Judge
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.task import Task, TaskReference
from behavesim.task.verdict import Block, Verdict
from behavesim.trajectory import Trajectory

from .harness import Turns

STATES, INSTANCES = 50, 5


class Numbered:
    """Answers at once with the template and the candidate's number + 1 as `weight`: no two programs are equal."""

    def __init__(self, template: str) -> None:
        self._template = template

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply; the prompt is not read."""
        return Reply(f"```python\n{self._template}\n\nweight = {number + 1}\n```\n", "null")


class NullJudge:
    """Judges at once: scores and permutations as trajectories, both drawn with the program's `weight` as the seed."""

    async def evaluate(self, source: str, notice: object = None, block: Block | None = None) -> Verdict:
        """Return the verdict; the template has no `weight`, which counts as 0. A block's scores are drawn apart."""
        written = re.search(r"weight = (\d+)", source)
        rng = np.random.default_rng((int(written[1]) if written else 0, 0 if block is None else block.first))
        count = INSTANCES if block is None else block.size
        walks = tuple(Trajectory.prefixes(rng.permutation(STATES)) for _ in range(count if block is None else 0))
        scores = tuple(rng.uniform(6, 12, count).tolist())
        return Verdict(sum(scores) / count, scores, walks, 0.0)


@asynccontextmanager
async def begun_search(folder: RunFolder, settings: Settings, task: Task, judge: Judge) -> AsyncIterator[Search]:
    """Yield a search of a new run in the folder, with replies that cost nothing; its template has been judged."""
    folder.path.mkdir(parents=True)
    folder.write_settings(settings.flat())
    async with SqliteJournal(folder.journal) as journal:
        caps = Caps(settings.budget, lambda model, tokens: 0.0, Heartbeat())
        search = assemble_search(settings, task, Numbered(task.template), judge, journal, caps)
        verdict = await judge.evaluate(task.template)
        assert isinstance(verdict, Verdict), verdict
        template = Evaluated(TEMPLATE, task.template, verdict.score, verdict.scores, verdict.trajectories)
        raced = await race_template(settings, task, judge)
        for event in (RunStarted(settings.flat(), run_provenance(settings, task), "strong+"), template, *raced):
            await journal.append([event])
            search.fold(event)
        yield search


def settings_of(method: str, candidates: int, task: Task, **more: Any) -> Settings:
    """Return the settings of such a search on tsp, which recommends nothing."""
    given = {"task": "tsp", "method": method, "budget": candidates, "recommend": False, **more}
    return settings_from_person(given, task=task)


class Timed(Behaviours):
    """Behaviours that add up the CPU seconds of their comparisons in `spent_s`."""

    spent_s = 0.0

    def means(self, candidate: int, groups: Any) -> dict[str, float]:
        """Return what Behaviours returns, and add its CPU time, that of the calling thread, to `spent_s`."""
        begun = time.thread_time()
        means = super().means(candidate, groups)
        self.spent_s += time.thread_time() - begun
        return means


class Meter:
    """Prints a line for every thousand candidates registered: CPU ms of each, in similarity, resident MB, turns."""

    def __init__(self, known: Behaviours | None) -> None:
        self._known, self._turns = known, Turns()
        self._cpu = time.process_time()
        self._compared = 0.0
        print("candidates   ms each   of it similarity   MB resident   longest turn, ms CPU   by the clock")

    def __call__(self, event: Event, state: RunState) -> None:
        """Print the line if the event registers a thousandth candidate; a search calls this after every event."""
        if isinstance(event, Added | NotAdded) and (done := event.candidate + 1) % 1000 == 0:
            now, compared = time.process_time(), self._known.spent_s if isinstance(self._known, Timed) else 0.0
            similarity = compared - self._compared
            turns = f"{1000 * self._turns.longest_cpu_s:22.1f} {1000 * self._turns.longest_s:14.1f}"
            print(f"{done:10} {now - self._cpu:9.2f} {similarity:18.2f} {resident_mb():13.0f} {turns}", flush=True)
            self._cpu, self._compared = now, compared


def resident_mb() -> float:
    """Return the resident memory of this process in MB, from /proc; pages of 4096 bytes are assumed."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


async def measure_flatness(method: str, candidates: int, race: int) -> None:
    """Run a search to its end in a temporary folder."""
    task = TaskReference("tsp").load()
    with tempfile.TemporaryDirectory() as runs:
        folder = RunFolder(Path(runs) / "long")
        settings = settings_of(method, candidates, task, race=race)
        async with begun_search(folder, settings, task, NullJudge()) as search:
            if search.behaviours.are_kept:
                search.behaviours.__class__ = Timed
            search.observe = Meter(search.behaviours)
            await search.run()


COMMAND = [sys.executable, "-c", "from behavesim_cli.app import main; main()"]
RESUMED = 3


async def written(folder: RunFolder, method: str, candidates: int) -> None:
    """Write a run into the folder, as a search with made-up replies and verdicts records it."""
    task = TaskReference("tsp").load()
    async with begun_search(folder, settings_of(method, candidates, task), task, NullJudge()) as search:
        await search.run()


def resumed(folder: RunFolder, candidates: int, more: int) -> float:
    """Resume the run with a budget of `candidates` + `more`; return the seconds to the first outcome of its last ten.

    They are counted from the start of the command. Raises AssertionError if the command fails.
    """
    begun = time.time()
    done = subprocess.run(
        [*COMMAND, "resume", folder.run, "--runs-dir", str(folder.path.parent), "--budget", str(candidates + more)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcomes = read_events(folder.journal, only=(Evaluated, Rejected))
    first = next(at for _, at, event in outcomes if event.candidate >= candidates + more - 10)
    return first - begun


def measure_resuming(method: str, candidates: int) -> None:
    """Write a run, resume it three times, and print the times and their median."""
    with tempfile.TemporaryDirectory() as runs:
        folder = RunFolder(Path(runs) / "long")
        asyncio.run(written(folder, method, candidates))
        size = folder.journal.stat().st_size / 1e6
        seconds = [resumed(folder, candidates, 10 * turn) for turn in range(1, RESUMED + 1)]
    print(f"{method}, {candidates} candidates ({size:.0f} MB): first new evaluation after", end=" ")
    print(f"{statistics.median(seconds):.2f} s (of {', '.join(f'{each:.2f}' for each in seconds)})")


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--resume", action="store_true", help="measure how long a resumed run takes")
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--method")
    parser.add_argument("--race", type=int, default=0)
    given = parser.parse_args()
    if given.resume:
        measure_resuming(given.method or "funsearch+behavesim", given.candidates or 10_000)
    else:
        asyncio.run(measure_flatness(given.method or "funsearch", given.candidates or 20_000, given.race))


if __name__ == "__main__":
    main()
