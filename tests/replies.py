"""How long can a reply that was handed over still be lost? Measured on runs that are killed in each stage.

`python -m tests.replies --runs 3` kills each of so many runs six times with SIGKILL, for 1, 8 and 64 connections and
for replies that come evenly and in bursts; `--load 4` has so many busy processes beside them. In milliseconds, `wait`
is the time from the handing over of a reply to the beginning of its commit, and `oldest` how long before the kill a
reply was handed over at most that the journal does not have.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from tests.crash.handover import Death, in_bursts, spread
from tests.crash.stages import Life
from tests.proposers.chat_server import ChatServer

PATTERNS = {"evenly": spread(0.02, 0.2), "in bursts": in_bursts(0.25)}
CONNECTIONS = (1, 8, 64)
BUSY = "while True: pass"


@contextmanager
def load(processes: int) -> Iterator[None]:
    """So many processes that do nothing but compute, for as long as the block lasts."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


async def deaths(pattern: str, connections: int, seed: int) -> list[tuple[str, Death]]:
    """How one run died, stage by stage."""
    with tempfile.TemporaryDirectory() as folder:
        async with ChatServer(PATTERNS[pattern]) as server:
            life = Life.of(Path(folder) / "run", server, connections)
            return [death async for death in life.deaths(random.Random(seed), Path(folder) / "kernels")]


def line(title: str, seen: Sequence[Death]) -> str:
    """What was seen, as a line of the table."""
    waits = sorted(1000 * wait for death in seen for wait in death.waits)
    lost = sorted(1000 * age for death in seen for age in death.lost)
    middle, rare = (waits[int(share * (len(waits) - 1))] for share in (0.5, 0.99)) if waits else (0.0, 0.0)
    wait = f"{middle:6.0f} {rare:6.0f} {max(waits, default=0.0):6.0f}"
    return f"{title:40} {len(seen):6} {len(waits):6} {wait} {len(lost):6} {max(lost, default=0.0):6.0f}"


async def measure(runs: int, seed: int) -> None:
    """Kill the runs, and print the table as it grows."""
    by_stage: dict[str, list[Death]] = defaultdict(list)
    print(f"{'':40} {'kills':>6} {'kept':>6} {'wait':>6} {'p99':>6} {'max':>6} {'lost':>6} {'oldest':>6}")
    for connections, pattern in product(CONNECTIONS, PATTERNS):
        seen = []
        for number in range(runs):
            for stage, death in await deaths(pattern, connections, seed + number):
                by_stage[stage].append(death)
                seen.append(death)
        print(line(f"{connections} connections, {pattern}", seen), flush=True)
    for stage, died in by_stage.items():
        print(line(stage, died))
    print(line("all", [death for died in by_stage.values() for death in died]))
    print(f"load at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1, help="runs for each number of connections and each pattern")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside them")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with load(arguments.load):
        asyncio.run(measure(arguments.runs, arguments.seed))


if __name__ == "__main__":
    main()
