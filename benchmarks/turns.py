"""Measures the event loop's longest turn while another program locks the database; at most 50 ms are wanted.

`python benchmarks/turns.py [--seconds 5]` runs a toy search whose journal is locked by another process for so long. It
times the turns of the loop, without the time in which the loop only waits. The longest turn and the replies that
arrived meanwhile are printed for the seconds before the lock, under it and after it.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from behavesim.checks.method import search
from behavesim.state.events import Event, Responded
from behavesim.store.journal import SqliteJournal

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


class Turns:
    """Times every turn of the running event loop: from when it has something to do until it waits again.

    `longest_s` is the longest so far, in seconds of wall time.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        selector: Any = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
        self._select, self._began = selector.select, time.perf_counter()
        selector.select = self._timed

    def _timed(self, timeout: float | None = None) -> Any:
        self.longest_s = max(self.longest_s, time.perf_counter() - self._began)
        ready = self._select(timeout)
        self._began = time.perf_counter()
        return ready


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


async def measure(folder: Path, seconds: float) -> None:
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


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the database is locked")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), parser.parse_args().seconds))


if __name__ == "__main__":
    main()
