"""Does a long run stay as fast and as small as a short one? 20 000 candidates that cost nothing to propose or judge.

`python benchmarks/flatness.py [--candidates 20000] [--method funsearch]` prints, for every thousand candidates, the CPU
milliseconds each took (everything but model and sandbox: prompts, extraction, decisions, journal), how many of them
went into similarity, and the resident memory.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.base.config import Settings
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine.build import wired
from behavesim.engine.caps import Caps
from behavesim.engine.loop import Search
from behavesim.engine.settings import resolve
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Evaluated, Event, NotAdded, Prompt, Reply, RunStarted
from behavesim.state.state import RunState
from behavesim.state.verdict import Verdict
from behavesim.store.journal import SqliteJournal
from behavesim.task import Objective, Task
from behavesim.trajectory import Trajectory

STATES, INSTANCES = 50, 5
PROGRAM = '''def score(distance: float, index: int) -> float:
    """How good a step is."""
    near = 1.0 / (1.0 + distance)
    weight = {number}
    return near * weight - index / 100.0
'''


class Null(Task):
    """A task whose programs are told apart by one number."""

    name = "null"
    description = "Weigh a step."
    template = PROGRAM.format(number=0)
    objective = Objective("minimise", 0.0)
    normaliser = float(STATES)

    def instances(self, split: str) -> Sequence[Any]:
        """Nothing but their number matters."""
        return range(INSTANCES)

    def solve(self, function: Any, instance: Any) -> Any:
        """Nothing is solved."""

    def score(self, instance: Any, solution: Any) -> float:
        """The score does not matter."""
        return 0.0

    def trajectory(self, instance: Any, solution: Any) -> Trajectory:
        """Nor does the trajectory."""
        return Trajectory.prefixes([0])


class NullProposer:
    """Answers at once with a program that nobody wrote before."""

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """A reply."""
        return Reply(f"Try this.\n\n```python\n{PROGRAM.format(number=number + 1)}```\n", "null")


class NullJudge:
    """Judges at once: a score and a walk, both drawn by the program's number."""

    async def evaluate(self, source: str) -> Verdict:
        """A verdict."""
        number = int(re.findall(r"weight = (\d+)", source)[0])
        rng = np.random.default_rng(number)
        walks = tuple(Trajectory.prefixes(rng.permutation(STATES)) for _ in range(INSTANCES))
        scores = tuple(rng.uniform(6, 12, INSTANCES).tolist())
        return Verdict(sum(scores) / INSTANCES, scores, walks, 0.0)


class Timed(Behaviours):
    """Behaviours that count the CPU time of comparing."""

    spent_s = 0.0

    def means(self, candidate: int, groups: Any) -> dict[str, float]:
        """As ever."""
        begun = time.thread_time()
        means = super().means(candidate, groups)
        self.spent_s += time.thread_time() - begun
        return means


async def begun_search(settings: Settings, path: Path) -> Search:
    """A search on the null task, with a real journal that the caller closes by ending the process."""
    task, judge = Null(), NullJudge()
    journal = await SqliteJournal(path).__aenter__()
    caps = Caps(settings.budget, lambda model, tokens: 0.0, Heartbeat())
    search = wired(settings, task, NullProposer(), judge, journal, caps)
    if search.behaviours is not None:
        search.behaviours.__class__ = Timed
    search.show = Meter(search.behaviours)
    verdict = await judge.evaluate(task.template)
    template = Evaluated(TEMPLATE, task.template, verdict.score, verdict.scores, verdict.trajectories)
    for event in (RunStarted(settings.flat(), {"direction": "minimise"}, "none"), template):
        await journal.append([event])
        search.fold(event)
    return search


class Meter:
    """Prints a line for every thousand candidates."""

    def __init__(self, known: Behaviours | None) -> None:
        self._known = known
        self._cpu = time.process_time()
        self._compared = 0.0
        print("candidates   ms each   of it similarity   MB resident")

    def __call__(self, event: Event, state: RunState) -> None:
        """Told of every event."""
        if isinstance(event, Added | NotAdded) and (done := event.candidate + 1) % 1000 == 0:
            now, compared = time.process_time(), self._known.spent_s if isinstance(self._known, Timed) else 0.0
            similarity = compared - self._compared
            print(f"{done:10} {now - self._cpu:9.2f} {similarity:18.2f} {resident_mb():13.0f}", flush=True)
            self._cpu, self._compared = now, compared


def resident_mb() -> float:
    """The memory this process holds (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


async def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--candidates", type=int, default=20_000)
    parser.add_argument("--method", default="funsearch")
    arguments = parser.parse_args()
    settings = resolve({"task": "null", "method": arguments.method, "budget": arguments.candidates}, task=Null())
    with tempfile.TemporaryDirectory() as folder:
        search = await begun_search(settings, Path(folder) / "run.db")
        await search.run()
        await search._journal.__aexit__(None, None, None)  # type: ignore[attr-defined]


if __name__ == "__main__":
    asyncio.run(main())
