"""Measures how long a resumed run of 10 000 candidates takes to its first new evaluation.

At most 3 s are wanted, the start of the process included. `python benchmarks/resume.py [--candidates 10000]
[--method funsearch+behavesim]` writes a journal of so many candidates of the task tsp, with made-up verdicts. Then
`behavesim resume` goes on with it, three times.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from flatness import NullJudge

from behavesim.base.config import Settings
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine.admission import run_provenance, settings_from_person
from behavesim.engine.build import assemble_search
from behavesim.engine.caps import Caps
from behavesim.state.events import TEMPLATE, Evaluated, Prompt, Rejected, Reply, RunStarted
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.task import TaskReference
from behavesim.task.verdict import Verdict

COMMAND = [sys.executable, "-c", "from behavesim_cli.app import main; main()"]
ROUNDS = 3


class Numbered:
    """Answers at once with the template and the candidate's number, so that no two programs are equal."""

    def __init__(self, template: str) -> None:
        self._template = template

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply; the prompt is not read."""
        return Reply(f"```python\n{self._template}\n\nweight = {number + 1}\n```\n", "null")


class Judge(NullJudge):
    """Gives made-up verdicts, also on a template without `weight`, as if its weight were 0."""

    async def evaluate(self, source: str, *_: object) -> Verdict:
        """Return the verdict."""
        return await super().evaluate(source if "weight = " in source else "weight = 0")


async def written(folder: RunFolder, settings: Settings) -> None:
    """Write a run with these settings into the folder, as a search with made-up replies and verdicts records it."""
    task, judge = TaskReference("tsp").load(), Judge()
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


def main() -> None:
    """Read the command line, write a run, resume it three times, and print the times and their median."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--method", default="funsearch+behavesim")
    arguments = parser.parse_args()
    chosen = {"task": "tsp", "method": arguments.method, "budget": arguments.candidates, "recommend": False}
    with tempfile.TemporaryDirectory() as runs:
        folder = RunFolder(Path(runs) / "long")
        asyncio.run(written(folder, settings_from_person(chosen, task=TaskReference("tsp").load())))
        size = folder.journal.stat().st_size / 1e6
        seconds = [resumed(folder, arguments.candidates, 10 * turn) for turn in range(1, ROUNDS + 1)]
    print(f"{arguments.method}, {arguments.candidates} candidates ({size:.0f} MB): first new evaluation after", end=" ")
    print(f"{statistics.median(seconds):.2f} s (of {', '.join(f'{each:.2f}' for each in seconds)})")


if __name__ == "__main__":
    main()
