"""A session of a run from Python: begun, cancelled in order, gone on with, finished."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from behavesim.analysis.run import load_run
from behavesim.application import session
from behavesim.application.launch import new_launch, next_launch
from behavesim.build import Launch
from behavesim.loop import Search
from behavesim.store.folder import RunFolder

UNCHOSEN = {"budget": 12, "method": "best-of-n", "proposer": "genetic", "window": 4, "recommend": False}


@asynccontextmanager
async def unseen(launch: Launch, search: Search) -> AsyncIterator[None]:
    yield


def cancelled(times: int) -> session.View:
    """Shows nothing, and cancels the session so many times when five candidates have been told."""

    @asynccontextmanager
    async def view(launch: Launch, search: Search) -> AsyncIterator[None]:
        this = asyncio.current_task()
        assert this is not None

        async def watch() -> None:
            while search.state.registered < 5:
                await asyncio.sleep(0)
            for _ in range(times):
                this.cancel()
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        yield
        await watching

    return view


@pytest.mark.parametrize(("times", "stopped"), [(1, "interrupted"), (2, None)])
async def test_a_cancelled_session_ends_in_order_and_the_next_ends_as_if_nothing_had_happened(
    tmp_path: Path, times: int, stopped: str | None
) -> None:
    calm, cut = (new_launch("tsp", tmp_path, UNCHOSEN, name=name) for name in ("calm", "cut"))
    assert (await session.begin(calm, unseen, pytest.fail)).reason == "budget"
    with pytest.raises(asyncio.CancelledError):
        await session.begin(cut, cancelled(times), pytest.fail)
    left = load_run(cut.folder.path).state
    assert left.stopped == stopped
    assert left.registered < 12
    assert left.registered >= 5 or stopped is None, "decisions that were not committed are taken again"
    assert (await session.resume(next_launch(cut.folder, {}), unseen, pytest.fail)).reason == "budget"
    assert load_run(cut.folder.path).state.digest() == load_run(calm.folder.path).state.digest()


async def test_a_finished_run_is_not_searched_again_but_a_program_is_recommended_if_none_is(tmp_path: Path) -> None:
    told: list[str] = []
    launch = new_launch("tsp", tmp_path, UNCHOSEN, name="first")
    await session.begin(launch, unseen, pytest.fail)
    again = next_launch(launch.folder, {"recommend": True})
    for _ in range(2):
        assert (await session.resume(again, unseen, told.append)).reason == "finished"
    assert told == ["trying the best programs of first on validation instances"]
    assert launch.folder.recommended.exists()


async def test_a_fork_leaves_the_run_it_comes_from_as_it_is(tmp_path: Path) -> None:
    first = new_launch("tsp", tmp_path, UNCHOSEN, name="first")
    await session.begin(first, unseen, pytest.fail)
    digest = load_run(first.folder.path).state.digest()
    fork = next_launch(first.folder, {"budget": 16}, fork=RunFolder.named(tmp_path, "second"))
    assert (await session.fork(fork, first.folder, unseen, pytest.fail)).reason == "budget"
    assert load_run(fork.folder.path).state.registered == 16
    assert load_run(first.folder.path).state.digest() == digest
