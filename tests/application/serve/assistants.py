"""Assistants that write programs for a run by the Model Context Protocol, as the tests of its server play them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from behavesim.application import session
from behavesim.application.launch import new_launch
from behavesim.application.serve.mcp_server import AssistantsLaunch, AssistantsRun
from behavesim.proposers.http import ADDRESS

FEW_CITIES = str(Path(__file__).parents[2] / "few_cities.py")
NEAREST = "def select_next_node(a, b, unvisited, d):\n    return unvisited[0]\n"
FARTHEST = NEAREST.replace("[0]", "[-1]")
FAULTY = NEAREST.replace("[0]", "[99]")


def another(number: int) -> str:
    """A program of its own behaviour: when `number` cities are visited, it goes elsewhere than to the nearest."""
    return NEAREST.replace("[0]", f"[int(len(unvisited) == {9 - number})]")


async def told(client: Client, tool: str, **given: Any) -> Any:
    """What a tool answers; it must not refuse."""
    answer = await client.call_tool(tool, given)
    assert not answer.is_error, answer.content
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


async def refused(client: Client, tool: str, **given: Any) -> str:
    """With which words a tool refuses."""
    answer = await client.call_tool(tool, given)
    assert answer.is_error and answer.structured_content is None
    return str(answer.content[0].text)


@asynccontextmanager
async def served(runs: Path, task: str = FEW_CITIES, budget: int = 8, **settings: Any) -> AsyncIterator[Client]:
    """A client of a new run's server in this process; the run is `first`, in the folder `runs`."""
    given = {"proposer": "http", "method": "best-of-n", "budget": budget, "recommend": False, "workers": 2, **settings}
    launch = new_launch(task, runs, given, name="first")
    launch = AssistantsLaunch(launch.settings, launch.task, launch.folder, launch.brought)
    run = AssistantsRun(launch)
    run.serving.set()
    searching = asyncio.create_task(run.search(lambda view: session.begin(launch, view, print)))
    begun = asyncio.create_task(run.begun.wait())
    await asyncio.wait([searching, begun], return_when=asyncio.FIRST_COMPLETED)
    if not run.begun.is_set():
        searching.result()  # what kept it from beginning
    try:
        async with Client(run.server(), mode="legacy") as client:
            yield client
    finally:
        searching.cancel()
        await asyncio.wait([searching])
        await run.close()
    if not searching.cancelled():
        searching.result()


@asynccontextmanager
async def started(folder: Path, *options: str) -> AsyncIterator[Client]:
    """A client of the command in a process of its own, over stdio; the file `pid` in the folder has its number."""
    command = f'echo $$ > pid; exec "{sys.executable}" -m behavesim mcp {" ".join(options)}'
    with Path(folder, "stderr").open("a") as log:
        environment = {"OPENBLAS_NUM_THREADS": "1", "PATH": os.environ["PATH"]}
        parameters = StdioServerParameters(command="/bin/sh", args=["-c", command], cwd=folder, env=environment)
        async with Client(stdio_client(parameters, log)) as client:
            yield client


@asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[Client]:
    """A client of the run in `folder`, which a process serves over HTTP."""
    async with asyncio.timeout(120):
        while not ((folder / ADDRESS).exists() and (folder / ADDRESS).read_text()):
            await asyncio.sleep(0.05)
    known = json.loads((folder / ADDRESS).read_text())
    headers = {"Authorization": f"Bearer {known['token']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(known["url"], http_client=http)) as client,
    ):
        yield client
