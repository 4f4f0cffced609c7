"""A run in a container, whose limits on processes and memory its candidates would use up, goes on to the same end."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from behavesim.base.heartbeat import Heartbeat
from behavesim.prompts.wording import Wording
from behavesim.sandbox.connection import ZygoteConnection, ZygoteDied
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import TaskAssignment
from behavesim.task import TaskReference
from tests.crash.model import endpoint, steadfast
from tests.crash.processes import COMMAND, FEW_CITIES, carried_out
from tests.proposers.chat_server import Answer, Asked, ChatServer, says
from tests.sandbox.container import NoContainer, container
from tests.sandbox.outside import processes_naming

RUN = (
    *("run", FEW_CITIES, "--proposer", "openai", "--model", "m", "--budget", "4", "--window", "4", "--workers", "2"),
    *("--json", "--method", "best-of-n", "--set", "memory_mb=700", "--set", "recommend=false"),
)
PROCESSES, MEMORY_MB = 40, 500
ANGLES = Wording.load("full").angles
"""The ideas to begin from: prompts of best-of-n show them in turn."""
THREADS = """
import threading, time

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    for _ in range(600):
        try:
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        except RuntimeError:
            break
    return unvisited_nodes[-1]
"""
HOG = """
import numpy as np

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    kept = [np.ones(10**6) for _ in range(1000)]
    return unvisited_nodes[-1]
"""


def hostile(asked: Asked) -> Answer:
    """To the first two angles, whatever else a prompt says, a program that wants all threads or all memory there is."""
    first = min((angle for angle in ANGLES if angle in asked.prompt), key=asked.prompt.index)
    draw = ANGLES.index(first)
    return says(f"```python\n{(THREADS, HOG)[draw]}\n```") if draw < 2 else steadfast(asked)


async def summary(command: tuple[str, ...], folder: Path, server: ChatServer) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *command,
        *RUN,
        *("--runs-dir", str(folder)),
        env={**os.environ, **endpoint(server)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()[-2000:]
    document: dict[str, Any] = json.loads(said)
    return document


@pytest.mark.timeout(1800)
async def test_a_run_in_a_container_survives_candidates_that_want_all_threads_and_all_memory(tmp_path: Path) -> None:
    async with ChatServer(hostile) as server:
        try:
            with container(PROCESSES, MEMORY_MB) as limits:
                inside = await summary(limits.around(*COMMAND), tmp_path / "inside", server)
                refused = limits.count("pids.events:max")
                killed = limits.count("memory.oom_control:oom_kill", "memory.events:oom_kill")
        except NoContainer as reason:
            pytest.skip(str(reason))
        outside = json.loads(
            (await carried_out(*RUN, "--runs-dir", str(tmp_path / "outside"), env=endpoint(server))).stdout
        )
    assert inside["digest"] == outside["digest"]
    assert inside["rejected"] == outside["rejected"]
    assert set(inside["rejected"]) == {"memory"}, "who wants all memory was asked for"
    assert killed > 0, "the container's memory was used up, and not the candidate's"
    assert refused == 0, "nobody was denied a thread or a process"


async def test_a_zygote_that_may_start_no_process_says_so(cities: TaskReference) -> None:
    assignment = TaskAssignment(cities.text, "search", (), 1.0, limits=Limits(), layers=LAYERS)
    link, _ = await ZygoteConnection.open(assignment, Heartbeat())
    zygote = processes_naming(cities.text)
    try:
        with container(len(zygote), MEMORY_MB) as limits:
            for pid in zygote:
                limits.take(pid)
            with pytest.raises(ZygoteDied, match=r"no process can be had for a program.*set fewer workers"):
                await link.run("def order(points): return points\n")
            await link.close()
    except NoContainer as reason:
        await link.close()
        pytest.skip(str(reason))
