"""Measures long runs, with a proposer and a judge that do nothing.

`python -m benchmarks.long_runs [--candidates 20000] [--method funsearch]` says whether a long run stays as fast and as
small as a short one. It prints a line for every thousand candidates: the CPU milliseconds of each candidate (all but
model and sandbox), how many of them went into similarity, the resident memory, and the longest turn of the event loop
so far, in milliseconds of its thread's CPU time and by the clock; at most 20 are wanted at 3 000.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.base.config import Settings
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine.admission import run_provenance, settings_from_person
from behavesim.engine.build import assemble_search
from behavesim.engine.caps import Caps
from behavesim.engine.loop import Search
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Evaluated, Event, NotAdded, Prompt, Rejected, Reply, RunStarted
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.task import Objective, Task, TaskReference
from behavesim.task.verdict import Verdict
from behavesim.trajectory import Trajectory

from .harness import Turns

STATES, INSTANCES = 50, 5
PROGRAM = '''def score(distance: float, index: int) -> float:
    """How good a step is."""
    near = 1.0 / (1.0 + distance)
    weight = {number}
    return near * weight - index / 100.0
'''


class Null(Task):
    """A task whose programs differ in one number; only its template and its number of instances are used."""

    name = "null"
    description = "Weigh a step."
    template = PROGRAM.format(number=0)
    objective = Objective("minimise", 0.0)
    normaliser = float(STATES)

    def instances(self, split: str) -> Sequence[Any]:
        """Return five placeholders, for any split."""
        return range(INSTANCES)

    def solve(self, function: Any, instance: Any) -> Any:
        """Return None; never called."""

    def score(self, instance: Any, solution: Any) -> float:
        """Return 0.0; never called."""
        return 0.0

    def trajectory(self, instance: Any, solution: Any) -> Trajectory:
        """Return a trajectory of one decision; never called."""
        return Trajectory.prefixes([0])


class NullProposer:
    """Answers at once with a program that has the candidate's number + 1 as its `weight`."""

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply; the prompt is not read."""
        return Reply(f"Try this.\n\n```python\n{PROGRAM.format(number=number + 1)}```\n", "null")


class NullJudge:
    """Judges at once: scores and permutations as trajectories, both drawn with the program's `weight` as the seed."""

    async def evaluate(self, source: str, *_: object) -> Verdict:
        """Return the verdict; raises IndexError if the source has no line `weight = NUMBER`."""
        number = int(re.findall(r"weight = (\d+)", source)[0])
        rng = np.random.default_rng(number)
        walks = tuple(Trajectory.prefixes(rng.permutation(STATES)) for _ in range(INSTANCES))
        scores = tuple(rng.uniform(6, 12, INSTANCES).tolist())
        return Verdict(sum(scores) / INSTANCES, scores, walks, 0.0)


class Timed(Behaviours):
    """Behaviours that add up the CPU seconds of their comparisons in `spent_s`."""

    spent_s = 0.0

    def means(self, candidate: int, groups: Any) -> dict[str, float]:
        """Return what Behaviours returns, and add its CPU time, that of the calling thread, to `spent_s`."""
        begun = time.thread_time()
        means = super().means(candidate, groups)
        self.spent_s += time.thread_time() - begun
        return means


async def begun_search(settings: Settings, path: Path) -> Search:
    """Return a search on the null task with a new journal at `path`, which the caller closes."""
    task, judge = Null(), NullJudge()
    journal = await SqliteJournal(path).__aenter__()
    caps = Caps(settings.budget, lambda model, tokens: 0.0, Heartbeat())
    search = assemble_search(settings, task, NullProposer(), judge, journal, caps)
    if search.behaviours.are_kept:
        search.behaviours.__class__ = Timed
    search.observe = Meter(search.behaviours)
    verdict = await judge.evaluate(task.template)
    template = Evaluated(TEMPLATE, task.template, verdict.score, verdict.scores, verdict.trajectories)
    for event in (RunStarted(settings.flat(), {"direction": "minimise"}, "none"), template):
        await journal.append([event])
        search.fold(event)
    return search


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


async def measure_flatness(method: str, candidates: int) -> None:
    """Run a search to its end in a temporary folder."""
    settings = settings_from_person({"task": "null", "method": method, "budget": candidates}, task=Null())
    with tempfile.TemporaryDirectory() as folder:
        search = await begun_search(settings, Path(folder) / "run.db")
        await search.run()
        await search._journal.__aexit__(None, None, None)  # type: ignore[attr-defined]


COMMAND = [sys.executable, "-c", "from behavesim_cli.app import main; main()"]
RESUMED = 3


class Numbered:
    """Answers at once with the template and the candidate's number, so that no two programs are equal."""

    def __init__(self, template: str) -> None:
        self._template = template

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply; the prompt is not read."""
        return Reply(f"```python\n{self._template}\n\nweight = {number + 1}\n```\n", "null")


class TspJudge(NullJudge):
    """Gives made-up verdicts, also on a template without `weight`, as if its weight were 0."""

    async def evaluate(self, source: str, *_: object) -> Verdict:
        """Return the verdict."""
        return await super().evaluate(source if "weight = " in source else "weight = 0")


async def written(folder: RunFolder, settings: Settings) -> None:
    """Write a run with these settings into the folder, as a search with made-up replies and verdicts records it."""
    task, judge = TaskReference("tsp").load(), TspJudge()
    folder.path.mkdir(parents=True)
    folder.write_settings(settings.flat())
    async with SqliteJournal(folder.journal) as journal:
        caps = Caps(settings.budget, lambda model, tokens: 0.0, Heartbeat())
        search = assemble_search(settings, task, Numbered(task.template), judge, journal, caps)
        verdict = await judge.evaluate(task.template)
        template = Evaluated(TEMPLATE, task.template, verdict.score, verdict.scores, verdict.trajectories)
        started = RunStarted(settings.flat(), run_provenance(settings, task), "strong+")
        await journal.append([started, template])
        search.fold(started)
        search.fold(template)
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
    chosen = {"task": "tsp", "method": method, "budget": candidates, "recommend": False}
    with tempfile.TemporaryDirectory() as runs:
        folder = RunFolder(Path(runs) / "long")
        asyncio.run(written(folder, settings_from_person(chosen, task=TaskReference("tsp").load())))
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
    given = parser.parse_args()
    if given.resume:
        measure_resuming(given.method or "funsearch+behavesim", given.candidates or 10_000)
    else:
        asyncio.run(measure_flatness(given.method or "funsearch", given.candidates or 20_000))


if __name__ == "__main__":
    main()
