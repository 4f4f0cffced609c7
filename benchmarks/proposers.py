"""Measures how many replies a second proposers give in one process.

`python -m benchmarks.proposers` asks through the openai proposer. The endpoint is a local server in a process of its
own that answers after 200 ms; with 64 connections no client can have more than 320 replies a second. The proposer,
which asks through the openai package, is compared with that package alone, and with bare aiohttp, which shows what
server and machine allow; they take turns. Run it on an idle machine with at least two cores.

`python -m benchmarks.proposers RUN…` asks a new offline proposer every prompt of finished offline runs once more, in
the order of the run; every reply must be the one recorded. It compares that time with that of the programs' evaluation.
At least 200 proposals a second are wanted, and 95 % feasible ones, on cpp 75 %.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import openai
from behavesim_offline import GeneticProposer

from behavesim.analysis.run import Run
from behavesim.proposers.openai import OpenAIProposer
from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.proposers.proposer import ProposerContext
from behavesim.state.events import Asked, Prompt, Responded
from behavesim.store.reading import read_events
from behavesim.task import TaskReference

from .harness import Way, take_turns

SERVER = Path(__file__).parents[1] / "tests/proposers/chat_server.py"
LATENCY_S, CONNECTIONS, ROUNDS, REQUESTS = 0.2, 64, 5, 1280
PROMPT = Prompt("Improve this program.\n" + "x = x + 1  # a line of an example\n" * 100, "improve")
REPLY = "```python\n" + "def f(x):\n    return x + 1\n" * 50 + "```"
# Most replies a second that the connections allow.
IDEAL = CONNECTIONS / LATENCY_S

# Function that sends request number n, and returns once its reply is read.
Ask = Callable[[int], Awaitable[object]]


def all_requests(ask: Ask) -> Way:
    """Return a function that sends REQUESTS requests, CONNECTIONS at a time."""
    return lambda: asyncio.gather(*(ask(number) for number in range(REQUESTS)))


async def measured(url: str) -> None:
    """Ask the server at `url` in all ways in turn, and print a table of them.

    Sets OPENAI_BASE_URL and OPENAI_API_KEY in this process's environment.
    """
    os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    places = asyncio.Semaphore(CONNECTIONS)
    body = {"model": "m", "messages": [{"role": "user", "content": PROMPT.text}]}
    context = ProposerContext(TaskReference("tsp").load(), 0, CONNECTIONS)
    async with (
        OpenAIProposer(OpenAISettings(models={"m": 1.0}), context) as proposer,
        openai.AsyncOpenAI(max_retries=0) as client,
        aiohttp.ClientSession() as session,
    ):

        async def packaged(number: int) -> object:
            async with places:
                return await client.chat.completions.create(model="m", messages=body["messages"])  # type: ignore[arg-type]

        async def bare(number: int) -> object:
            async with places, session.post(f"{url}/chat/completions", json=body) as response:
                return await response.json()

        ways: dict[str, Ask] = {
            "ours": lambda number: proposer.propose(PROMPT, number),
            "openai package": packaged,
            "bare aiohttp": bare,
        }
        for ask in ways.values():
            await ask(0)
        sending = {name: all_requests(ask) for name, ask in ways.items()}
        costs = await take_turns(ROUNDS, sending, dict.fromkeys(ways, 1), REQUESTS)
    print(f"{'':<16}{'replies/s':>10}{'of ideal':>10}{'best round':>12}{'CPU ms/reply':>14}")
    for name, cost in costs.items():
        median, best = 1e3 / cost.wall_ms, 1e3 / min(cost.wall)
        print(f"{name:<16}{median:>10.0f}{median / IDEAL:>10.1%}{best / IDEAL:>12.1%}{cost.own_ms:>14.2f}")


def measure_endpoint() -> None:
    """Start the server, measure, and stop it."""
    with tempfile.NamedTemporaryFile("w", suffix=".md") as reply:
        reply.write(REPLY)
        reply.flush()
        command = [sys.executable, str(SERVER), "--port", "0", "--latency", str(LATENCY_S), "--reply", reply.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip().removeprefix("OPENAI_BASE_URL=")
            try:
                asyncio.run(measured(url))
            finally:
                server.terminate()


async def measure_offline(folder: Path) -> str:
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
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    given = parser.parse_args()
    if not given.runs:
        measure_endpoint()
        return
    print("| run | proposals/s | feasible | one evaluation, CPU ms | × a proposal |\n|---|---|---|---|---|")
    for folder in given.runs:
        print(asyncio.run(measure_offline(folder)))


if __name__ == "__main__":
    main()
