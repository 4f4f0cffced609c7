"""Requests under way: counted, and waited for when a session ends."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from behavesim.requests import Requests

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


async def test_it_is_said_once_when_nothing_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("behavesim.requests.SILENCE_S", 0.2)
    notes: list[str] = []
    requests = Requests(notes.append)

    async def unanswered(limit_s: float | None) -> None:
        async with requests.one(limit_s):
            await asyncio.sleep(0.5)

    await asyncio.gather(*map(unanswered, (300.0, None)))
    assert notes == ["nothing came back for 0 s; 2 requests under way, each for 300 s at most"]


async def test_nothing_is_said_where_others_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("behavesim.requests.SILENCE_S", 0.01)
    monkeypatch.setattr("behavesim.requests.time", SimpleNamespace(monotonic=lambda: now[0]))
    notes: list[str] = []
    requests, never, answered = Requests(notes.append), asyncio.Event(), asyncio.Event()
    waiting = asyncio.create_task(made(requests, never))
    await asyncio.sleep(0)
    answered.set()
    now[0] = 100.0
    await made(requests, answered)
    await asyncio.sleep(0.05)
    assert notes == []
    waiting.cancel()


async def test_where_nothing_is_under_way_nothing_is_waited_for() -> None:
    await Requests().settle(LONG_S)
