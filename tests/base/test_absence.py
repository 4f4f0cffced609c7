"""Whoever was asleep or stopped takes nobody's silence for an answer: no reply is paid twice, no zygote given up."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.retry import RetryLimits
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool
from behavesim.task import TaskReference
from behavesim.task.verdict import Solved
from tests.base.test_clock import World
from tests.crash.processes import ended, start
from tests.proposers import chat_server as chat
from tests.proposers.asking import openai_proposer, prompt

PAUSE = "import time\ndef order(points):\n    time.sleep(0.2)\n    return points\n"
HOUR_S = 3600.0


async def test_a_zygote_is_not_given_up_for_ones_own_absence(tmp_path: Path) -> None:
    path = tmp_path / "cities.py"
    path.write_text((Path(__file__).parents[1] / "sandbox/cities.py").read_text())
    world = World()
    clock = Heartbeat(world, beat_s=0.01, busy=world.busy)
    limits = Limits(timeout_s=10.0, memory_mb=256)
    async with Pool(TaskReference(str(path)), "search", 1, limits, True, preloaded=(), clock=clock) as pool:
        running = asyncio.create_task(pool.evaluate(PAUSE))
        await asyncio.sleep(0.1)
        world.now += HOUR_S
        assert isinstance(await running, Solved)


async def test_a_reply_that_came_in_ones_absence_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    async with chat.ChatServer(chat.slow(chat.echo, 0.2)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "")
        clock = Heartbeat(world, beat_s=0.01, busy=world.busy)
        async with openai_proposer(8, RetryLimits(request_s=1.5), clock=clock) as proposer:
            asked = asyncio.create_task(proposer.propose(prompt(), 0))
            while not server.in_flight:
                await asyncio.sleep(0.001)
            world.now += HOUR_S
            assert (await asked).text == "reply to hello"
        assert len(server.asked) == 1


async def test_a_run_that_was_stopped_pays_for_no_reply_twice(tmp_path: Path) -> None:
    arguments = ("tsp", "--method", "funsearch", "--budget", "16", "--window", "8", "--connections", "8")
    settings = ("--set", "request_timeout_s=3", "--set", "recommend=false", "--model", "m")
    async with chat.ChatServer(chat.improving) as server:
        server.answering.clear()
        env = {"OPENAI_BASE_URL": server.url}
        process = await start("run", *arguments, *settings, "--name", "run", "--runs-dir", str(tmp_path), env=env)
        while len(server.asked) < 8:
            await asyncio.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)
        server.answering.set()
        await asyncio.sleep(3.5)
        os.kill(process.pid, signal.SIGCONT)
        said = await ended(process)
        assert said.code == 0, said.stderr
        assert len(server.asked) == 16
