"""Requests under way: counted, and waited for when a session ends."""

from __future__ import annotations

import asyncio
import re

from behavesim.base.heartbeat import Heartbeat
from behavesim.state.requests import Requests

LONG_S = 600.0


async def made(requests: Requests, until: asyncio.Event) -> None:
    async with requests.one():
        await until.wait()


async def test_nobody_knows_of_requests_before_one_is_counted() -> None:
    requests, answered = Requests(), asyncio.Event()
    assert requests.under_way is None
    answered.set()
    await made(requests, answered)
    assert requests.under_way == 0


async def test_settling_waits_for_what_is_under_way_and_lets_nothing_more_be_sent() -> None:
    requests, answered = Requests(), asyncio.Event()
    first = [asyncio.create_task(made(requests, answered)) for _ in range(3)]
    await asyncio.sleep(0)
    settling = asyncio.create_task(requests.settle(LONG_S))
    await asyncio.sleep(0)
    late = asyncio.create_task(made(requests, answered))
    await asyncio.sleep(0)
    assert (requests.under_way, settling.done()) == (3, False)
    answered.set()
    await asyncio.gather(*first, settling)
    assert (requests.under_way, late.done()) == (0, False)
    late.cancel()


async def test_settling_ends_where_it_is_abandoned_or_takes_too_long() -> None:
    requests, never = Requests(), asyncio.Event()
    waiting = asyncio.create_task(made(requests, never))
    await asyncio.sleep(0)
    await requests.settle(0.0)
    settling = asyncio.create_task(requests.settle(LONG_S))
    await asyncio.sleep(0)
    requests.abandon()
    await settling
    assert requests.under_way == 1
    waiting.cancel()


class World:
    """Seconds of the world outside, which go on by so many whenever somebody looks."""

    def __init__(self, step_s: float) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


def requests_in(world: World) -> tuple[Requests, list[str]]:
    """Requests by a clock that beats a thousand times a second, and what is said of them."""
    notes: list[str] = []
    return Requests(notes.append, Heartbeat(world, beat_s=0.001)), notes


async def test_it_is_said_once_a_minute_that_nothing_comes_back() -> None:
    world = World(step_s=0.5)
    requests, notes = requests_in(world)

    async def unanswered(limit_s: float | None) -> None:
        async with requests.one(limit_s):
            while world.now_s < 100.0:
                await asyncio.sleep(0.001)

    await asyncio.gather(*map(unanswered, (None, 300.0)))
    said = [
        re.fullmatch(r"nothing came back for (\d+) s; 2 requests under way, each for 300 s at most", note)
        for note in notes
    ]
    first, second = (int(each[1]) for each in said if each)
    assert 30 <= first < 40 <= 90 <= second < 100


async def test_nothing_is_said_where_others_are_answered() -> None:
    world = World(step_s=0.5)
    requests, notes = requests_in(world)
    never, answered = asyncio.Event(), asyncio.Event()
    waiting = asyncio.create_task(made(requests, never))
    answered.set()
    while world.now_s < 100.0:
        await made(requests, answered)
        await asyncio.sleep(0.001)
    assert notes == []
    waiting.cancel()


async def test_nothing_is_said_of_the_time_that_the_machine_slept() -> None:
    world = World(step_s=0.0)
    requests, notes = requests_in(world)
    never = asyncio.Event()
    waiting = asyncio.create_task(made(requests, never))
    await asyncio.sleep(0.01)
    world.now_s += 3000.0
    await asyncio.sleep(0.05)
    assert notes == []
    waiting.cancel()


async def test_where_nothing_is_under_way_nothing_is_waited_for() -> None:
    await Requests().settle(LONG_S)
