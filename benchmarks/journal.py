"""How many events a second can be committed, one transaction each? Bar: 5 000.

`python benchmarks/journal.py [--folder DIR]` appends the events of typical candidates, one by one as a run does, and in
transactions of ten, to a journal in DIR (a temporary folder unless given: what counts is the disk it is on).
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
    """The five events of a feasible candidate of the task tsp: 1.5 kB of prompt, 0.7 kB of program, five tours."""
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
    """Events committed a second."""
    begun = time.perf_counter()
    for start in range(0, len(events), batch):
        await journal.append(events[start : start + batch])
    return len(events) / (time.perf_counter() - begun)


async def main() -> None:
    """Read the command line and measure; rounds alternate between one event and ten a transaction."""
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
