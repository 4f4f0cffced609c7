"""The chat server as a fixture, and a proposer that asks it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from behavesim.proposers.openai import OpenAIProposer, Patience, Sampling


def _module(name: str) -> ModuleType:
    """A module beside this file; test modules cannot import one another by name."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def chat() -> ModuleType:
    """The module chat_server: its answers and behaviours."""
    return _module("chat_server")


@pytest.fixture
async def server(chat: ModuleType) -> AsyncIterator[Any]:
    """A running ChatServer that echoes; set its `behaviour` to anything else."""
    async with chat.ChatServer() as running:
        yield running


QUICK = Patience(request_s=0.5, outage_s=2.0, start_s=1.0, backoff_s=0.01)


@pytest.fixture
def proposer_of(server: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OpenAIProposer]:
    """Makes proposers that ask the server, with a key and little patience; the caller closes them."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    def make(connections: int = 8, patience: Patience = QUICK, notes: Any = print, **sampling: Any) -> OpenAIProposer:
        return OpenAIProposer(Sampling(**{"models": {"m": 1.0}, **sampling}), connections, patience, notes)

    return make
