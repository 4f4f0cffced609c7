"""What the tests of the openai proposer ask, and what one answered request of theirs costs."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from behavesim.base.tokens import Usage
from behavesim.proposers.openai import OpenAIProposer
from behavesim.state.events import Prompt, Reply

KEY = "sk-planted-0123456789abcdef"
OWN = Usage(prompt=100, cached=20, completion=50, reasoning=10)


def prompt(text: str = "hello") -> Prompt:
    return Prompt(text, "improve")


async def replies(proposer: OpenAIProposer, count: int) -> list[Reply]:
    """The replies to the prompts p0, p1, …, all asked for at once."""
    return await asyncio.gather(*(proposer.propose(prompt(f"p{number}"), number) for number in range(count)))


def counted(reply: Reply) -> list[Usage]:
    """What the endpoint counted for each request of a reply, estimates left out."""
    return [replace(usage, estimated_prompt=None, estimated_completion=None) for usage in reply.calls]
