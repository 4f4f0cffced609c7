"""A model that answers by the prompt alone: the same program, whenever and however often it is asked."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tests.proposers.chat_server import Answer, Asked, ChatServer, improving


def steadfast(asked: Asked) -> Answer:
    """A variation of a program in the prompt, after a moment; both are drawn by the prompt."""
    return improving(asked).after(random.Random(asked.prompt).uniform(0.0, 0.05))


def endpoint(server: ChatServer) -> Mapping[str, str]:
    """What a run needs in its environment to ask this server."""
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
