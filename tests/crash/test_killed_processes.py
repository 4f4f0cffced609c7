"""Real processes, killed by SIGKILL at random moments: the short form of `python -m tests.chaos`."""

from __future__ import annotations

import random
from pathlib import Path

from tests.chaos import Chaos, Variant
from tests.crash.model import steadfast
from tests.proposers.chat_server import ChatServer


async def test_killed_runs_end_as_those_that_nobody_killed(tmp_path: Path) -> None:
    async with ChatServer(steadfast) as server:
        chaos = Chaos(tmp_path, server)
        await chaos.disturbed("model", Variant("eoh", "openai", 1), random.Random(2))
