"""The small world that searches are rehearsed in, for tests."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from behavesim.loop import Search
from behavesim.rehearsal.world import MemoryJournal, Stop, Toy, ToyJudge, ToyProposer, fitting, pause, price, search

__all__ = ["MemoryJournal", "Stop", "Toy", "ToyJudge", "ToyProposer", "finished", "fitting", "pause", "price", "search"]


async def finished(settings: Mapping[str, Any], delay: random.Random | None = None) -> Search:
    """A search that has run to its end."""
    built = await search(MemoryJournal(), settings, delay)
    await built.run()
    return built
