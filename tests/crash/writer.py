"""A process that commits as fast as it can and says so, while its log is moved all the time; and what a kill costs it.

`python -m tests.crash.writer RUN.DB` is that process: after each commit it prints how many events there are.
"""

from __future__ import annotations

import asyncio
import random
import sys
from asyncio.subprocess import PIPE
from itertools import count
from pathlib import Path

from behavesim.state.events import RunStopped
from behavesim.store import journal as wal
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events

LOG_BYTES = 100_000


async def write(path: Path) -> None:
    """Commit one to three events at a time, for ever."""
    wal.FLUSH_S = 0.0
    events = 0
    async with SqliteJournal(path, log_bytes=LOG_BYTES) as journal:
        for number in count():
            size = 1 + number % 3
            await journal.append([RunStopped("x" * 3000)] * size)
            events += size
            print(events, flush=True)


async def killed(path: Path, rng: random.Random) -> tuple[int, int]:
    """Kill a writer after a while: how many events it said that it had committed, and how many are there."""
    command = (sys.executable, "-m", "tests.crash.writer", str(path))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    assert process.stdout is not None
    begun = await process.stdout.readline()
    reading = asyncio.create_task(process.stdout.read())
    await asyncio.sleep(rng.uniform(0.0, 1.0))
    process.kill()
    said = (begun + await reading).split()
    await process.wait()
    return int(said[-1]), sum(1 for _ in read_events(path))


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1])))
