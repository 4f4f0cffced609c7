"""The chat server as a fixture, and a proposer that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from behavesim.base.clock import world_s
from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.openai import OpenAIProposer
from behavesim.proposers.retry import RetryLimits
from tests.proposers import chat_server
from tests.proposers.asking import KEY, openai_proposer


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
