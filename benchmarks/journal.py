"""Measures how many events a second a journal commits; at least 5 000 are wanted with one in each transaction.

`python -m benchmarks.journal [--folder DIR]` appends the events of typical candidates to a journal in a temporary
folder inside DIR: one by one, as a run does, and in transactions of ten. DIR is the system's folder for temporary files
unless given; what counts is its disk.

`python -m benchmarks.journal --locked SECONDS` runs a toy search instead, whose journal another process locks for so
long. It times the turns of the event loop, without the time in which the loop only waits; at most 50 ms are wanted. The
longest turn and the replies that arrived meanwhile are printed for the seconds before the lock, under it and after it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.base.tokens import Usage
from behavesim.checks.method import search
from behavesim.state.events import Added, Asked, Compared, Evaluated, Event, Prompt, Reply, Responded
from behavesim.store.journal import SqliteJournal
from behavesim.trajectory import Trajectory

from .harness import Turns, Way, take_turns

ROUNDS, CANDIDATES = 7, 400


def candidate(number: int) -> list[Event]:
    """Return the five events of a feasible candidate of tsp: 1.5 kB of prompt, 0.7 kB of program, five tours."""
    rng = np.random.default_rng(number)
    tours = tuple(Trajectory.prefixes(rng.permutation(50)) for _ in range(5))
    source = "x" * 700
    return [
        Asked(number, (number - 1, number - 2), "3", Prompt("p" * 1500, "improve")),
        Responded(number, Reply(f"Here is one: {source}", "m", (Usage(400, 0, 300, 0),), "stop")),
        Evaluated(number, source, 6.5, (6.0, 7.0, 6.5, 6.5, 6.5), tours, "", "f" * 64, None, 0.01),
        Compared(number, dict.fromkeys("0123456789", 0.5)),
        Added(number, "3"),
    ]


async def append(journal: SqliteJournal, events: list[Event], batch: int) -> None:
    """Append the events to the journal, `batch` in each transaction."""
    for start in range(0, len(events), batch):
        await journal.append(events[start : start + batch])


async def measure_rates(folder: Path) -> None:
    """Measure in turn one event and ten a transaction, and print medians and ranges."""
    events = [event for number in range(CANDIDATES) for event in candidate(number)]
    async with SqliteJournal(folder / "run.db") as journal:
        await append(journal, events, 1)
        ways: dict[str, Way] = {
            "one": lambda: append(journal, events, 1),
            "ten": lambda: append(journal, events, 10),
        }
        costs = await take_turns(ROUNDS, ways, dict.fromkeys(ways, 1), len(events))
    for title, cost in costs.items():
        low, middle, high = (1e3 / each for each in (max(cost.wall), cost.wall_ms, min(cost.wall)))
        print(f"{title} event(s) a transaction: {middle:,.0f} events/s (median of {ROUNDS}; {low:,.0f} to {high:,.0f})")


SETTINGS: dict[str, Any] = {
    "method": "funsearch", "budget": 10**6, "window": 256, "connections": 64, "max_rejected_share": 1.0
}  # fmt: skip
LOCK = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print(flush=True)
time.sleep(float(sys.argv[2]))
db.execute("ROLLBACK")
"""


class Counting(SqliteJournal):
    """A journal that counts its commits and the replies in them; `most` is the largest number of replies in one."""

    commits = replies = most = 0

    async def append(self, events: Sequence[Event]) -> None:
        """Commit the events in one transaction, then count it and the replies in it."""
        await super().append(events)
        found = sum(isinstance(event, Responded) for event in events)
        self.commits, self.replies, self.most = self.commits + 1, self.replies + found, max(self.most, found)

    def events(self) -> list[Event]:
        """Return no events: `search` begins on an empty journal."""
        return []


async def watched(title: str, journal: Counting, turns: Turns, seconds: float) -> None:
    """Let the search go on for `seconds`, then print its longest turn in ms, and counts of commits and replies."""
    commits, replies = journal.commits, journal.replies
    turns.longest_s = journal.most = 0
    await asyncio.sleep(seconds)
    rows = f"{journal.commits - commits:7} {journal.replies - replies:7} {journal.most:7}"
    print(f"{title:12} {1e3 * turns.longest_s:10.1f} {rows}", flush=True)


async def measure_turns(folder: Path, seconds: float) -> None:
    """Run a search with a journal in the folder, and print a row each before, under and after a lock of `seconds`."""
    path = folder / "run.db"
    async with Counting(path, patience_s=2 * seconds) as journal:
        run = await search(journal, SETTINGS, random.Random(1))
        turns, running = Turns(), asyncio.create_task(run.run())
        print(f"{'':12} {'longest/ms':>10} {'commits':>7} {'replies':>7} {'at once':>7}")
        await watched("before", journal, turns, 2.0)
        command = (sys.executable, "-c", LOCK, str(path), str(seconds))
        locking = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        assert locking.stdout is not None
        await locking.stdout.readline()
        await watched("under lock", journal, turns, seconds - 0.2)
        await locking.wait()
        await watched("after", journal, turns, 2.0)
        run.stop("measured")
        await running


async def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--locked", type=float, metavar="SECONDS", help="how long another process locks the database")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        await (measure_turns(Path(folder), given.locked) if given.locked else measure_rates(Path(folder)))


if __name__ == "__main__":
    asyncio.run(main())
