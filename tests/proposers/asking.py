"""What the tests of the openai proposer ask, and what one answered request of theirs costs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.tokens import Usage
from behavesim.proposers.openai import OpenAIProposer
from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.proposers.proposer import ProposerContext
from behavesim.proposers.retry import RetryLimits
from behavesim.state.events import Prompt, Reply
from behavesim.state.requests import Requests
from tests.engine import toys

KEY = "sk-planted-0123456789abcdef"
OWN = Usage(prompt=100, cached=20, completion=50, reasoning=10)


def context(connections: int = 8, seed: int = 0, **more: Any) -> ProposerContext:
    """What a run tells its proposer about itself."""
    return ProposerContext(toys.Toy(), seed, connections, **more)


def openai_proposer(
    connections: int = 8,
    limits: RetryLimits | None = None,
    notes: Callable[[str], None] = lambda line: None,
    clock: Heartbeat | None = None,
    requests: Requests | None = None,
    seed: int = 0,
    **settings: Any,
) -> OpenAIProposer:
    """Asks the model m, at the endpoint of the environment as it is now; the caller closes it."""
    chosen = OpenAISettings(**{"models": {"m": 1.0}, **settings})
    about = context(connections, seed, tell=notes, clock=clock or Heartbeat(), requests=requests or Requests())
    return OpenAIProposer(chosen, about, limits)


def prompt(text: str = "hello") -> Prompt:
    return Prompt(text, "improve")


async def replies(proposer: OpenAIProposer, count: int) -> list[Reply]:
    """The replies to the prompts p0, p1, …, all asked for at once."""
    return await asyncio.gather(*(proposer.propose(prompt(f"p{number}"), number) for number in range(count)))


def counted(reply: Reply) -> list[Usage]:
    """What the endpoint counted for each request of a reply, estimates left out."""
    return [replace(usage, estimated_prompt=None, estimated_completion=None) for usage in reply.calls]
