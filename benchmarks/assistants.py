"""Prints how often two assistants on one run find again what is known, with and without asking `nearest` first.

`python -m benchmarks.assistants` makes the table of docs/explanation/results.md. Two scripted clients write programs
for one run at once, over HTTP, by the official SDK. Each changes the best program as the offline proposer does. With
`nearest`, a program that does what another did is not evaluated: the client writes another one, up to TRIES times.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from behavesim.analysis.run import Run
from behavesim.programs.answer import fenced_blocks
from behavesim.proposers.http import ADDRESS
from behavesim.proposers.proposer import ProgramWriter, offline_proposer
from behavesim.task import TaskReference

TASKS = ("tsp", "job_shop")
SEEDS, BUDGET, TRIES = 3, 30, 8


@dataclass(frozen=True)
class Played:
    """What came of one run: shares of feasible candidates that repeat a behaviour, its behaviours, gap and looks."""

    own: float
    other: float
    behaviours: int
    gap: float
    looks: int


@asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[Client]:
    """Yield a client of the run that is served from a folder."""
    async with asyncio.timeout(600):
        while not ((folder / ADDRESS).exists() and (folder / ADDRESS).read_text()):
            await asyncio.sleep(0.05)
    known = json.loads((folder / ADDRESS).read_text())
    headers = {"Authorization": f"Bearer {known['token']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=600) as http,
        Client(streamable_http_client(known["url"], http_client=http)) as client,
    ):
        yield client


async def call(client: Client, tool: str, **given: Any) -> Any:
    """Return what a tool answers; None if it refuses, as it does when the budget is used up."""
    answer = await client.call_tool(tool, given)
    return None if answer.is_error else answer.structured_content


async def assist(client: Client, writer: ProgramWriter, draw: np.random.Generator, asks: bool) -> tuple[set[int], int]:
    """Write programs until the budget is used up; return the candidates that were this client's, and its looks."""
    mine, looks = set[int](), 0
    while (best := await call(client, "best")) is not None:
        for _ in range(TRIES):
            idea, text = writer.write("improve", [best["quoted"]["program"]], draw)
            (program,) = fenced_blocks(text)
            if not asks:
                break
            looks += 1
            found = await call(client, "nearest", program=program)
            if found is None or (found["status"] == "ok" and found["behaviour"]["again"] is None):
                break
        told = await call(client, "evaluate", program=program, idea=idea)
        if told is None:
            break
        mine.add(told["candidate"])
    return mine, looks


async def play(task: str, seed: int, asks: bool) -> Played:
    """Let two clients use up the budget of a run, and return what came of it."""
    writer = offline_proposer().grammar_writer(TaskReference(task).load())
    assert writer is not None, f"{task} has a grammar"
    with tempfile.TemporaryDirectory() as runs:
        options = [
            "--name",
            "a",
            "--runs-dir",
            runs,
            "--budget",
            str(BUDGET),
            "--port",
            "0",
            "--set",
            "recommend=false",
        ]
        command = [sys.executable, "-m", "behavesim", "mcp", task, *options]
        server = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
        try:
            folder = Path(runs) / "a"
            async with connected(folder) as one, connected(folder) as other:
                draws = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
                clients = zip((one, other), draws, strict=True)
                ended = await asyncio.gather(*(assist(client, writer, draw, asks) for client, draw in clients))
        finally:
            server.terminate()
            await server.wait()
        return count(Run.load(folder), [mine for mine, _ in ended], sum(looks for _, looks in ended))


def count(run: Run, owned: list[set[int]], looks: int) -> Played:
    """Return how many candidates repeat an earlier behaviour, by whose it was first; the template's is the other's."""
    assert run.template is not None, "the run has begun"
    first = {run.trajectories([run.template])[0].packed: -1}
    own = other = 0
    for candidate, behaviour in zip(run.feasible, run.trajectories(), strict=True):
        finder = first.setdefault(behaviour.packed, candidate.candidate)
        if finder != candidate.candidate:
            is_own = any({finder, candidate.candidate} <= mine for mine in owned)
            own, other = own + is_own, other + (not is_own)
    feasible = len(run.feasible)
    gap = run.gap(run.state.leader.score) if run.state.leader else None
    return Played(own / feasible, other / feasible, len(first) - 1, float("nan") if gap is None else gap, looks)


async def main() -> None:
    """Print the table."""
    print(f"two clients, budget {BUDGET}, {SEEDS} runs each; means")
    print("task       nearest  repeats own  of the other  behaviours  gap %  looks")
    for task in TASKS:
        for asks in (False, True):
            played = [await play(task, seed, asks) for seed in range(SEEDS)]
            own, other, found, gap, looks = (
                np.mean([getattr(each, name) for each in played]) for name in Played.__dataclass_fields__
            )
            row = f"{100 * own:9.1f} % {100 * other:11.1f} % {found:11.1f} {100 * gap:6.2f} {looks:6.1f}"
            print(f"{task:10} {'asked' if asks else 'not':7} {row}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
