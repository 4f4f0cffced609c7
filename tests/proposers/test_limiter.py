"""The limiter by its own clock: no test waits for real."""

from __future__ import annotations

import asyncio
from email.utils import formatdate

import pytest

from behavesim.proposers.retry import Limiter, backoff_s, duration_s, retry_after_s, seconds_until_refill


class Time:
    """A clock that only sleepers move."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def limiter(connections: int, time: Time) -> Limiter:
    return Limiter(connections, clock=time, sleep=time.sleep, jitter=lambda: 1.0)


async def test_a_burst_of_refusals_halves_the_allowance_once() -> None:
    limit = limiter(64, Time())
    for _ in range(64):
        limit.refused(0, None)
    assert limit.allowance == 32
    limit.refused(1, None)
    assert limit.allowance == 16


async def test_the_allowance_stays_between_one_and_the_connections() -> None:
    limit = limiter(4, Time())
    for cuts in range(10):
        limit.refused(cuts, None)
    assert limit.allowance == 1
    for _ in range(100):
        limit.succeeded()
    assert limit.allowance == 4


async def test_no_more_than_the_allowance_are_in_flight() -> None:
    limit, running, most = limiter(8, Time()), 0, 0
    limit.refused(0, 0.5)

    async def request() -> None:
        nonlocal running, most
        async with limit.slot():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(request() for _ in range(50)))
    assert most == 4


async def test_all_wait_as_long_as_the_endpoint_says() -> None:
    time = Time()
    limit = limiter(8, time)
    assert limit.refused(0, 30.0) == 30.0
    async with limit.slot():
        assert time.now == 1030.0


async def test_pauses_without_a_word_from_the_endpoint_double_until_a_success() -> None:
    limit = limiter(8, Time())
    assert [limit.refused(cuts, None) for cuts in range(4)] == [1.0, 2.0, 4.0, 8.0]
    limit.succeeded()
    time = Time()
    fresh = limiter(8, time)
    assert fresh.refused(0, None) == 1.0


@pytest.mark.parametrize(("reset", "until"), [("45s", 1045.0), ("24h", 1060.0)])
async def test_a_success_that_says_nothing_is_left_makes_the_next_wait_a_minute_at_most(
    reset: str, until: float
) -> None:
    time = Time()
    limit = limiter(8, time)
    limit.succeeded(seconds_until_refill({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": reset}))
    async with limit.slot():
        assert time.now == until


async def test_a_slot_yields_the_cuts_so_that_late_refusals_of_old_requests_do_not_cut_again() -> None:
    limit = limiter(8, Time())
    async with limit.slot() as before:
        limit.refused(before, 0.1)
        async with limit.slot() as after:
            limit.refused(before, 0.1)
            assert limit.allowance == 4
            limit.refused(after, 0.1)
            assert limit.allowance == 2


async def test_a_waiter_that_is_cancelled_blocks_nobody() -> None:
    limit = limiter(4, Time())
    limit.refused(0, 0.1)
    limit.refused(1, 0.1)
    async with limit.slot():
        waiters = [asyncio.create_task(hold(limit)) for _ in range(3)]
        await asyncio.sleep(0.001)
        waiters[0].cancel()
    await asyncio.wait_for(asyncio.gather(*waiters[1:]), 60)


async def hold(limit: Limiter) -> None:
    async with limit.slot():
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("6m0s", 360), ("20ms", 0.02), ("1h2m3.5s", 3723.5), ("12", 12), ("0.5", 0.5), ("0s", 0)],
)
def test_durations_are_read_as_openai_writes_them(text: str, seconds: float) -> None:
    assert duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf", "5 parsecs", "s", "1x2s"])
def test_what_is_no_duration_is_none(text: str) -> None:
    assert duration_s(text) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": formatdate(1060.0, usegmt=True)}, 60),
        ({"retry-after": formatdate(900.0, usegmt=True)}, 0),
        ({"retry-after": "tomorrow"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2s"}, 2),
        ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "2s"}, None),
        ({}, None),
    ],
)
def test_the_pause_asked_for_is_found_in_any_of_its_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, now=lambda: 1000.0) == seconds


def test_the_longer_of_two_exhausted_limits_counts() -> None:
    headers = {f"x-ratelimit-remaining-{what}": "0" for what in ("requests", "tokens")}
    headers |= {"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "3s"}
    assert seconds_until_refill(headers) == 3.0


def test_backoff_doubles_up_to_a_minute_and_jitters_down_to_half() -> None:
    assert [backoff_s(attempt, 1.0, 1.0) for attempt in (1, 2, 3, 7, 99)] == [1, 2, 4, 60, 60]
    assert backoff_s(3, 1.0, 0.0) == 2.0
