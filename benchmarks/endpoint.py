"""Measures how many replies a second the openai proposer handles in one process: `python benchmarks/endpoint.py`.

The endpoint is a local server in a process of its own that answers after 200 ms; with 64 connections no client can have
more than 320 replies a second. The proposer, which asks through the openai package, is compared with that package
alone, and with bare aiohttp, which shows what server and machine allow; the rounds are interleaved. Run it on an idle
machine with at least two cores.
"""

from __future__ import annotations

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

from behavesim.proposers.openai import OpenAIProposer
from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.proposers.proposer import ProposerContext
from behavesim.state.events import Prompt
from behavesim.task import TaskReference

SERVER = Path(__file__).parents[1] / "tests/proposers/chat_server.py"
LATENCY_S, CONNECTIONS, ROUNDS, REQUESTS = 0.2, 64, 5, 1280
PROMPT = Prompt("Improve this program.\n" + "x = x + 1  # a line of an example\n" * 100, "improve")
REPLY = "```python\n" + "def f(x):\n    return x + 1\n" * 50 + "```"
# Most replies a second that the connections allow.
IDEAL = CONNECTIONS / LATENCY_S

# Function that sends request number n, and returns once its reply is read.
Ask = Callable[[int], Awaitable[object]]


async def rate(ask: Ask) -> tuple[float, float]:
    """Send REQUESTS requests, CONNECTIONS at a time; return replies per second, and this process's CPU ms for each."""
    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(ask(number) for number in range(REQUESTS)))
    return REQUESTS / (time.perf_counter() - began), (time.process_time() - used) / REQUESTS * 1e3


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
        rounds = {name: [] for name in ways}  # type: dict[str, list[tuple[float, float]]]
        for _ in range(ROUNDS):
            for name, ask in ways.items():
                rounds[name].append(await rate(ask))
    print(f"{'':<16}{'replies/s':>10}{'of ideal':>10}{'best round':>12}{'CPU ms/reply':>14}")
    for name, results in rounds.items():
        rates = [replies for replies, _ in results]
        median, cpu = statistics.median(rates), statistics.median(used for _, used in results)
        print(f"{name:<16}{median:>10.0f}{median / IDEAL:>10.1%}{max(rates) / IDEAL:>12.1%}{cpu:>14.2f}")


def main() -> None:
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


if __name__ == "__main__":
    main()
