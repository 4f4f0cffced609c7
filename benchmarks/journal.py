"""Measures how many events a second a journal commits, one in each transaction; at least 5 000 are wanted.

`python benchmarks/journal.py [--folder DIR]` appends the events of typical candidates to a journal in a temporary
folder inside DIR: one by one, as a run does, and in transactions of ten. DIR is the system's folder for temporary files
unless given; what counts is its disk.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from behavesim.base.tokens import Usage
from behavesim.state.events import Added, Asked, Compared, Evaluated, Event, Prompt, Reply, Responded
from behavesim.store.journal import SqliteJournal
from behavesim.trajectory import Trajectory

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


async def rate(journal: SqliteJournal, events: list[Event], batch: int) -> float:
    """Append the events to the journal, `batch` in each transaction; return how many it committed per second."""
    begun = time.perf_counter()
    for start in range(0, len(events), batch):
        await journal.append(events[start : start + batch])
    return len(events) / (time.perf_counter() - begun)


async def main() -> None:
    """Read the command line, measure in turn one event and ten a transaction, and print medians and ranges."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path)
    with tempfile.TemporaryDirectory(dir=parser.parse_args().folder) as folder:
        events = [event for number in range(CANDIDATES) for event in candidate(number)]
        async with SqliteJournal(Path(folder) / "run.db") as journal:
            await rate(journal, events, 1)
            rounds = [(await rate(journal, events, 1), await rate(journal, events, 10)) for _ in range(ROUNDS)]
    for title, rates in zip(("one", "ten"), zip(*rounds, strict=True), strict=True):
        low, middle, high = min(rates), statistics.median(rates), max(rates)
        print(f"{title} event(s) a transaction: {middle:,.0f} events/s (median of {ROUNDS}; {low:,.0f} to {high:,.0f})")


if __name__ == "__main__":
    asyncio.run(main())
