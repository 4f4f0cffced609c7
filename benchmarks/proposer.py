"""Measures how fast the offline proposer writes, and how many of its programs are feasible.

At least 200 proposals a second are wanted, and 95 % feasible ones, on cpp 75 %. `python benchmarks/proposer.py RUN…`
asks a new proposer every prompt of finished offline runs once more, in the order of the run. It compares that time with
the time of the programs' evaluation. Every reply must be the one recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from pathlib import Path

from behavesim_offline import GeneticProposer

from behavesim.analysis.run import Run
from behavesim.state.events import Asked, Responded
from behavesim.store.reading import read_events
from behavesim.task import TaskReference


async def measure(folder: Path) -> str:
    """Return a run's row: proposals per CPU second, per cent feasible, and the CPU time of an evaluation.

    That is the median over feasible programs, in ms and in times of a proposal. Raises SystemExit if a reply is not the
    one recorded.
    """
    run = Run.load(folder)
    events = [event for _, _, event in read_events(run.folder.journal, only=(Asked, Responded))]
    asked = [event for event in events if isinstance(event, Asked)]
    recorded = {event.candidate: event.reply.text for event in events if isinstance(event, Responded)}
    proposer = GeneticProposer(TaskReference(run.settings.task).load(), run.settings.seed)
    begun = time.process_time()
    replies = [await proposer.propose(event.prompt, event.candidate) for event in asked]
    took = time.process_time() - begun
    differing = [e.candidate for e, reply in zip(asked, replies, strict=True) if recorded[e.candidate] != reply.text]
    if differing:
        raise SystemExit(f"{folder}: {len(differing)} replies differ from those recorded, first {differing[0]}")
    evaluated = [candidate for candidate in run.feasible if candidate.cpu_s]
    median = statistics.median(1000 * (candidate.cpu_s or 0) for candidate in evaluated)
    each, share = 1000 * took / len(asked), len(run.feasible) / run.state.registered
    return f"| {run.folder.run} | {1000 / each:,.0f} | {100 * share:.1f} % | {median:.1f} | {median / each:.1f} |"


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    print("| run | proposals/s | feasible | one evaluation, CPU ms | × a proposal |\n|---|---|---|---|---|")
    for folder in parser.parse_args().runs:
        print(asyncio.run(measure(folder)))


if __name__ == "__main__":
    main()
