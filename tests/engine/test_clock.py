"""Restarts by the clock: the time is read once, and whoever decides again goes by that reading."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest

from behavesim.audit.audit import Audit, discrepancy
from behavesim.audit.recover import RecoveredEvents
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine.loop import Search
from behavesim.proposers.replay import ReplayProposer, brought_again
from behavesim.state.events import DECISIONS, Added, ClockRead, Event, Injected, NotAdded, Regrouped, Reply, Responded
from behavesim.store.codec import decode
from behavesim.store.reading import Activity
from tests.engine.toys import MemoryJournal, Toy, ToyProposer, fitting, search

STEP_S = 0.9
"""Seconds that pass with each candidate registered: a clock of its own that any order of arrival leaves as it is."""
BY_CLOCK = {
    **{"method": "funsearch", "proposer": "genetic", "budget": 60, "window": 8, "islands": 4},
    **{"restart_every": 0, "restart_every_s": 18.0},  # every twenty candidates
}


async def timed(journal: MemoryJournal, order: int, step_s: float = STEP_S, **settings: Any) -> Search:
    """A search, new or as its journal left it, in which time passes with the candidates."""
    run = await search(journal, {**BY_CLOCK, **settings}, random.Random(order), ToyProposer(0, random.Random(order)))
    clock = Heartbeat(lambda: step_s * run.state.registered, busy=lambda: 0.0)
    before = Activity()
    before.seconds = step_s * run.state.registered
    run.caps = replace(run.caps, clock=clock, since=clock(), before=before)
    return run


def events_of(journal: MemoryJournal) -> list[Event]:
    return [decode(*row) for row in journal.rows]


def restarts(journal: MemoryJournal) -> list[int]:
    """How many candidates were registered at each restart."""
    events = events_of(journal)
    told = accumulate(isinstance(event, Added | NotAdded) for event in events)
    return [count for count, event in zip(told, events, strict=True) if isinstance(event, Regrouped)][1:]


async def finished(journal: MemoryJournal, order: int, **settings: Any) -> str:
    run = await timed(journal, order, **settings)
    assert await run.run() == "budget"
    return run.state.digest()


async def test_islands_restart_whenever_the_time_has_passed_and_at_the_next_registration() -> None:
    journal = MemoryJournal()
    with_restarts = await finished(journal, 0)
    # 18 s have passed once 20 candidates are registered, which is known from the 21st on; and again with 40
    assert restarts(journal) == [21, 41]
    assert [event for event in events_of(journal) if isinstance(event, ClockRead)] == [
        ClockRead(pytest.approx(STEP_S * passed), passed + 1) for passed in (20, 40, 60)
    ]
    assert with_restarts != await finished(MemoryJournal(), 0, restart_every_s=0.0)


async def test_of_several_periods_that_passed_unseen_one_restart_is_made() -> None:
    journal = MemoryJournal()
    await finished(journal, 0, step_s=1.0, restart_every_s=0.4)
    assert restarts(journal) == list(range(2, 60))


async def test_a_period_shorter_than_a_candidate_takes_leaves_time_for_the_search() -> None:
    journal = MemoryJournal()
    run = await timed(journal, 0, restart_every_s=1e-300, budget=6)
    ticks = iter(range(1000))  # it never ends without the limit
    run.caps = replace(run.caps, clock=Heartbeat(lambda: next(ticks), busy=lambda: 0.0))
    assert await run.run() == "budget"
    assert sum(isinstance(event, ClockRead) for event in events_of(journal)) <= 7


async def test_what_was_decided_by_the_clock_follows_from_the_journal() -> None:
    journal = MemoryJournal()
    await finished(journal, 0)
    audit = Audit(fitting(BY_CLOCK), Toy())
    for number, event in enumerate(events_of(journal), 1):
        if isinstance(event, DECISIONS):
            assert discrepancy(number, audit.due(event), event) is None
        audit.take(event)


async def test_a_run_that_was_killed_goes_on_by_the_time_it_had_read() -> None:
    brief = {"budget": 24, "restart_every_s": 9.0}
    wholes = [MemoryJournal() for _ in range(3)]
    (expected,) = {await finished(journal, order, **brief) for order, journal in enumerate(wholes)}
    assert restarts(wholes[0]) == [11, 21]
    deaths = {(0, killed) for killed in range(3, len(wholes[0].rows), 31)}
    for whole, journal in enumerate(wholes):  # before and after each event that the clock decided
        read = [k for k, event in enumerate(events_of(journal)) if k > 2 and isinstance(event, ClockRead | Regrouped)]
        deaths |= {(whole, k + later) for k in read[whole::3] for later in (0, 1)}
    for whole, killed in sorted(deaths):
        journal = MemoryJournal(wholes[whole].rows[:killed])
        assert await finished(journal, -killed, **brief) == expected, f"after event {killed} of run {whole}"


async def test_a_replay_goes_by_the_time_of_its_original_however_fast_it_is() -> None:
    journal, again = MemoryJournal(), MemoryJournal()
    expected, events = await finished(journal, 0), events_of(journal)
    replies: dict[int, Reply] = {e.candidate: e.reply for e in events if isinstance(e, Responded)}
    as_original = {**BY_CLOCK, "proposer": "replay:toy", "ask_once": False}  # genetic, which reads no prompts
    replay = await search(again, as_original, random.Random(2), ReplayProposer(replies))
    clock = Heartbeat(lambda: 100.0 * replay.state.registered, busy=lambda: 0.0)
    replay.caps = replace(replay.caps, clock=clock, since=clock())
    await replay.record(*brought_again(events))
    assert await replay.run() == "budget"
    assert restarts(again) == restarts(journal)
    assert replay.state.digest() == expected


def test_what_is_salvaged_of_a_run_has_its_clock_too() -> None:
    readings = [ClockRead(7200.0, 3), ClockRead(14400.0, 9)]
    assert RecoveredEvents.of([*readings, Injected("mine", "x = 1")]).readings == readings
