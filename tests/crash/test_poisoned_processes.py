"""A run whose model writes programs that forge frames is killed over and over, and resumed to its end."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from behavesim.analysis.run import Run
from tests.crash.model import endpoint
from tests.crash.processes import FEW_CITIES, Subject, asked_again, ended
from tests.proposers.chat_server import Answer, Asked, ChatServer, improving, says

FORGER = """
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    import json, os, struct
    header = json.dumps({"solutions": [[["", "<i8", [0, 2147483647, 2147483647, 2147483647]]]] * 5}).encode()
    for fd in range(3, 64):
        try:
            os.write(fd, struct.pack("<II", len(header), len(header)) + header)
        except OSError:
            pass
    os._exit(0 * %d)
"""


class Forging:
    """A model that answers with a forger, each its own, and with a variation of what the prompt shows by turns."""

    def __init__(self) -> None:
        self._answers = itertools.count()

    def __call__(self, asked: Asked) -> Answer:
        number = next(self._answers)
        return says(f"```python{FORGER % number}```") if number % 2 else improving(asked)


async def test_a_forged_frame_ends_neither_the_run_nor_its_resume(tmp_path: Path) -> None:
    async with ChatServer(Forging()) as server:
        arguments = [FEW_CITIES, "--method", "funsearch", "--proposer", "openai", "--budget", "16", "--window", "6"]
        subject = Subject(tmp_path / "poisoned", [*arguments, "--set", "recommend=false"], endpoint(server))
        for _ in range(2):
            process, known = await subject.start(), count(subject, "Responded")
            while count(subject, "Responded") == known and process.returncode is None:
                await asyncio.sleep(0.002)
            assert process.returncode is None, "it is killed before a forged frame has been read"
            os.kill(process.pid, signal.SIGKILL)
            await ended(process)
        done = await subject.finish()
    assert done.code == 0, done.stderr
    run = Run.load(subject.folder)
    assert run.state.registered == 16
    assert run.state.tally.rejected["output"] > 3
    assert asked_again(subject.folder) >= 0
    assert run.state.tally.feasible > 3


def count(subject: Subject, kind: str) -> int:
    if not subject.events():
        return 0
    with closing(sqlite3.connect(f"{(subject.folder / 'run.db').as_uri()}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM events WHERE type = ?", (kind,)).fetchone()[0])
