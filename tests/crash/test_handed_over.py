"""What a model has handed over is in the journal, whatever the run is doing: a kill at that moment costs none of it.

How long a reply takes to get there is measured by `python -m tests.replies`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from behavesim.engine.loop import Search
from behavesim.proposers.openai import OpenAIProposer
from behavesim.proposers.retry import RetryLimits
from behavesim.state.events import Event, Regrouped, Responded
from behavesim.state.state import RunState
from behavesim.store.reading import read_events
from tests.crash.handover import numbered
from tests.crash.images import Image
from tests.engine.toys import DiskJournal, search
from tests.proposers.asking import openai_proposer
from tests.proposers.chat_server import ChatServer, stall

FIRST, RESTART, BUDGET = 32, 38, 43
SETTINGS = {"method": "funsearch+behavesim", "budget": BUDGET, "window": FIRST, "n_init": FIRST}
SETTINGS |= {"islands": 4, "restart_every": RESTART}
LONG_S = 500.0


class Stage:
    """Where a run is when it dies: it is held there, and what it asks from then on is not answered any more."""

    def __init__(self, server: ChatServer) -> None:
        self.reached = asyncio.Event()
        self.answered = 0
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._over = threading.Event()

    def reach(self) -> None:
        """All that was asked until now is answered."""
        self.answered = len(self._server.asked)
        self._server.behaviour = lambda asked: stall(2 * LONG_S)
        self.reached.set()

    def reach_when(self, is_there: Callable[[Event, RunState], bool]) -> Callable[[Event, RunState], None]:
        """What reaches the stage at an event."""
        return lambda event, state: self.reach() if is_there(event, state) else None

    def held(self, work: Callable[..., Any], reaches: bool = True) -> Callable[..., Any]:
        """Work for a thread, done once this stage is over; where it reaches it, as it begins."""

        def wait(*arguments: Any) -> Any:
            if reaches:
                self._loop.call_soon_threadsafe(self.reach)
            self._over.wait(2 * LONG_S)
            return work(*arguments)

        return wait

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._over.set()  # so that a run that is to die can do so


def kernels_are_compiling(run: Search, stage: Stage, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run.behaviours, "warm", stage.held(run.behaviours.warm, reaches=False))
    run.observe = stage.reach_when(lambda event, state: state.asked == FIRST and not state.waiting)


def the_first_are_clustered(run: Search, stage: Stage, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run.behaviours, "matrix", stage.held(run.behaviours.matrix))


def one_is_compared(run: Search, stage: Stage, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run.behaviours, "means", stage.held(run.behaviours.means))


def islands_restart(run: Search, stage: Stage, patch: pytest.MonkeyPatch) -> None:
    made = count(1)  # not by what is registered: what was decided in one go is shown when all of it is
    run.observe = stage.reach_when(lambda event, state: isinstance(event, Regrouped) and next(made) == 2)


def all_are_told(run: Search, stage: Stage, patch: pytest.MonkeyPatch) -> None:
    run.observe = stage.reach_when(lambda event, state: state.registered == BUDGET)


Hold = Callable[[Search, Stage, pytest.MonkeyPatch], None]
"""Has a run reach the stage that is named."""
STAGES: list[Hold] = [kernels_are_compiling, the_first_are_clustered, one_is_compared, islands_restart, all_are_told]


def asking(connections: int) -> OpenAIProposer:
    return openai_proposer(connections, RetryLimits(backoff_s=0.01))


def replies(path: Path) -> int:
    return len({event.candidate for _, _, event in read_events(path, only=(Responded,))})


@pytest.mark.parametrize(
    ("while_", "connections"), [*((stage, 32) for stage in STAGES), (one_is_compared, 1), (islands_restart, 1)]
)
async def test_what_was_handed_over_is_kept(
    while_: Hold, connections: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ChatServer(numbered) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        async with DiskJournal(tmp_path / "run.db") as journal, asking(connections) as proposer:
            run = await search(journal, SETTINGS, proposer=proposer)
            with Stage(server) as stage:
                while_(run, stage, monkeypatch)
                running = asyncio.create_task(run.run())
                async with asyncio.timeout(LONG_S):
                    await stage.reached.wait()
                    while replies(tmp_path / "run.db") < stage.answered:
                        await asyncio.sleep(0.005)
                death = Image.of(tmp_path / "run.db")
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
    assert len(server.handed_over) == stage.answered > 0
    async with ChatServer(numbered) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        async with DiskJournal(death.put(tmp_path / "resumed")) as journal, asking(connections) as proposer:
            assert await (await search(journal, SETTINGS, proposer=proposer)).run() == "budget"
    assert len(server.asked) == BUDGET - stage.answered
