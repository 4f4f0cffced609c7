"""Work that was begun runs to its end, whoever is cancelled meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from behavesim.base.heartbeat import await_finished


async def test_its_result_is_returned() -> None:
    async def work() -> int:
        return 3

    assert await await_finished(work()) == 3


@pytest.mark.parametrize("times", [1, 3])
async def test_who_is_cancelled_once_or_often_ends_after_the_work(times: int) -> None:
    let_go, done = asyncio.Event(), []

    async def work() -> None:
        await let_go.wait()
        done.append(True)

    caller = asyncio.create_task(await_finished(work()))
    for _ in range(times):
        await asyncio.sleep(0)
        caller.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not caller.done()
    let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert done == [True]


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_its_error_is_raised_but_hides_no_cancellation(is_cancelled: bool) -> None:
    let_go = asyncio.Event()

    async def work() -> None:
        await let_go.wait()
        raise ValueError("it failed")

    caller = asyncio.create_task(await_finished(work()))
    await asyncio.sleep(0)
    if is_cancelled:
        caller.cancel()
        await asyncio.sleep(0)
    let_go.set()
    with pytest.raises(asyncio.CancelledError if is_cancelled else ValueError) as raised:
        await caller
    assert str(raised.value.__cause__ if is_cancelled else raised.value) == "it failed"
