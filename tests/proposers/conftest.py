"""The chat server as a fixture, and a proposer that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from behavesim.base.clock import world_s
from behavesim.base.errors import PROVOKED
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine import build
from behavesim.engine.build import Launch
from behavesim.proposers.openai import OpenAIProposer
from behavesim.proposers.retry import RetryLimits
from behavesim.sandbox.frames import encode_solutions
from behavesim.task import Task, as_arrays
from behavesim.task.verdict import Failure, Sent
from tests.proposers import chat_server
from tests.proposers.asking import KEY, openai_proposer
from tests.sandbox.fakes import Returns, judge_here


@pytest.fixture
async def server() -> AsyncIterator[chat_server.ChatServer]:
    """A running ChatServer that echoes; set its `behaviour` to anything else."""
    async with chat_server.ChatServer() as running:
        yield running


QUICK = RetryLimits(request_s=30.0, backoff_s=0.01)


@pytest.fixture
def proposer_of(server: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OpenAIProposer]:
    """Makes proposers that ask the server, with a key, short pauses and a quick clock; the caller closes them."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    def make(
        connections: int = 8, limits: RetryLimits = QUICK, notes: Any = print, world: Any = world_s, **more: Any
    ) -> OpenAIProposer:
        return openai_proposer(connections, limits, notes, Heartbeat(world, beat_s=0.02), **more)

    return make


class RunsHere(Returns):
    """A sandbox that runs programs in this process: those of the server do no harm."""

    def __init__(self, task: Task) -> None:
        self._task = task

    async def send(self, source: str, *_: object) -> Sent | Failure:
        names: dict[str, Any] = {}
        try:
            exec(source, names)
            found = [self._task.solve(names[self._task.entry_point], each) for each in self._task.instances("search")]
        except PROVOKED as error:
            return Failure("exception", str(error), 0.0)
        return Sent(encode_solutions([as_arrays(each) for each in found], 1 << 23), len(found), 0.0)


@pytest.fixture(scope="module")
def judged_here() -> Iterator[None]:
    """A run starts no other process here: what becomes of prompts and replies does not depend on it."""

    async def accept(*_: object) -> None:
        pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "refuse_unsteady", accept)
        patch.setattr(Launch, "judge", lambda launch: judge_here(launch.task, RunsHere(launch.task)))
        yield
