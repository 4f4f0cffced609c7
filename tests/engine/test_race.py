"""The race: a candidate that could be the best is judged on further instances, and its score can be compared."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.base.errors import JournalError
from behavesim.state.events import TEMPLATE, Evaluated, GoneOn, Raced, RaceEnded, Rejected, Responded, RunStarted
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.race import next_in_race, relative_gains
from behavesim.state.state import RunState
from behavesim.task import Objective
from tests.crash.deaths import METHODS
from tests.engine.toys import Hurdles, MemoryJournal, search

pytestmark = pytest.mark.usefixtures("replies_read_once")

RACE = 14
SMALL: Mapping[str, Any] = {"budget": 30, "window": 8, "islands": 4, "restart_every": 15, "race": RACE}


async def gone_on(journal: MemoryJournal, method: str, order: int, **settings: Any) -> Any:
    """Run to the end what the journal begins; return the search."""
    run = await search(journal, {**SMALL, "method": method, **settings}, random.Random(order), task=Hurdles())
    assert await run.run() == "budget"
    return run


def decisions(journal: MemoryJournal) -> list[Any]:
    """What was decided of the race, in order."""
    return [event for event in journal.events() if isinstance(event, GoneOn | RaceEnded)]


@pytest.mark.parametrize("method", METHODS)
async def test_a_race_comes_out_the_same_in_any_order_and_after_any_death(method: str) -> None:
    whole = MemoryJournal()
    expected = (await gone_on(whole, method, 0)).state.digest()
    assert any(isinstance(event, GoneOn) for event in decisions(whole))
    again = MemoryJournal()
    assert (await gone_on(again, method, 1, workers=4)).state.digest() == expected
    assert decisions(again) == decisions(whole)
    killed = len(whole.rows) * (METHODS.index(method) + 1) // (len(METHODS) + 1)  # together all along a run
    journal = MemoryJournal(whole.rows[:killed])
    assert (await gone_on(journal, method, killed)).state.digest() == expected, f"after event {killed}"
    assert decisions(journal) == decisions(whole), f"after event {killed}"


async def test_a_run_goes_on_after_each_event_of_a_race_and_asks_for_repairs() -> None:
    whole, brief = MemoryJournal(), {"budget": 16, "repair": 1}
    expected = (await gone_on(whole, "funsearch", 0, **brief)).state
    events = list(whole.events())
    failed = [event.candidate for event in events if isinstance(event, Raced) and event.reason]
    assert failed
    assert expected.tally.repairs
    for killed, event in enumerate(events, 1):
        if isinstance(event, GoneOn | Raced | RaceEnded) and killed > 4:
            journal = MemoryJournal(whole.rows[:killed])
            assert (await gone_on(journal, "funsearch", killed, **brief)).state.digest() == expected.digest()


async def test_what_fails_on_further_instances_is_rejected_and_what_leads_has_seen_them_all() -> None:
    journal = MemoryJournal()
    state = (await gone_on(journal, "funsearch", 0)).state
    outcomes = Counter(event.candidate for event in journal.events() if isinstance(event, Evaluated | Rejected))
    failed = [event for event in journal.events() if isinstance(event, Raced) and event.reason]
    assert failed
    assert max(outcomes.values()) == 1
    assert state.tally.rejected["timeout"] == len(failed)
    assert state.tally.feasible + state.tally.rejected.total() == SMALL["budget"]
    assert not {event.candidate for event in failed} & state.members.keys()
    assert state.best is not None
    assert state.template is not None
    assert len(state.best.all_scores) == len(state.template.all_scores) == 2 + RACE
    gains = relative_gains(state.best.all_scores, state.template.all_scores, state.objective)
    assert state.gain == pytest.approx(statistics.mean(gains))


async def test_equal_programs_share_what_a_race_found() -> None:
    journal = MemoryJournal()
    run = await gone_on(journal, "funsearch", 0)
    sources = {event.candidate: event.source for event in journal.events() if isinstance(event, Evaluated)}
    raced = [event for event in journal.events() if isinstance(event, Raced) and event.candidate != TEMPLATE]
    assert sum(event.cpu_s > 0 for event in raced) == len({(sources[e.candidate], e.first) for e in raced}) < len(raced)
    by_text = {(sources[event.candidate], event.first): event.scores for event in raced}
    assert all(by_text[sources[event.candidate], event.first] == event.scores for event in raced)
    assert run.state.tally.cpu_s > 0


async def test_no_race_leaves_no_trace() -> None:
    with_none, without = MemoryJournal(), MemoryJournal()
    await gone_on(with_none, "funsearch", 0, race=0)
    run = await search(without, {**SMALL, "method": "funsearch", "race": 0}, random.Random(0), task=Hurdles())
    await run.run()
    assert not [event for event in with_none.events() if isinstance(event, GoneOn | Raced | RaceEnded)]
    assert run.state.best is not None
    assert run.state.best.score == statistics.fmean(run.state.best.scores)


def standing(template: list[float], leader: list[float] | None, ours: list[float], begun: int) -> tuple[Any, Any]:
    """A state in which a candidate is registered next, and the candidate; each has scores on all that it saw."""
    state = RunState(Objective("minimise"))
    state.apply(RunStarted({"budget": 9}, {}, "none"))
    state.apply(Evaluated(TEMPLATE, "t", 1.0, tuple(template[:begun]), ()))
    state.apply(Raced(TEMPLATE, begun, tuple(template[begun:])))
    assert state.template is not None
    if leader is not None:
        gain = statistics.fmean(relative_gains(leader, template, state.objective))
        state.best = Member(0, "l", 1 - gain, gain - 1, scores=tuple(leader[:begun]), raced=tuple(leader[begun:]))
    opened = OpenCandidate(None, None, Evaluated(1, "o", 1.0, tuple(ours[:begun]), ()), raced=tuple(ours[begun:]))  # type: ignore[arg-type]
    opened.asked = type("Asked", (), {"candidate": 1})()  # type: ignore[assignment]
    return state, opened


positive = st.floats(0.5, 2.0)


@given(st.data(), st.integers(1, 4), st.integers(1, 4))
def test_a_candidate_stops_at_last_and_only_one_that_saw_all_comes_to_lead(data: Any, begun: int, times: int) -> None:
    most = begun * times
    draw = lambda: data.draw(st.lists(positive, min_size=begun + most, max_size=begun + most))  # noqa: E731
    template, leader, whole = draw(), draw(), draw()
    seen, sizes = begun, []
    while True:
        state, opened = standing(template, leader, whole[:seen], begun)
        decided = next_in_race(state, opened, most)
        if isinstance(decided, RaceEnded):
            break
        assert decided.first == seen
        assert decided.count >= begun
        sizes.append(decided.count)
        seen += decided.count
    assert seen <= begun + most
    assert decided.instances == seen
    assert state.leader is not None
    if decided.score < state.leader.score - 1e-12:  # minimised
        assert seen == begun + most
    if seen == begun + most:
        gains = relative_gains(whole, template, state.objective)
        assert decided.score == pytest.approx(state.template.score * (1 - statistics.fmean(gains)))


def test_copied_luck_on_the_first_block_leads_nobody() -> None:
    # the leader gains 40 % on the first block and nothing on the others; a candidate gains 39 % on the first
    template = [1.0] * 12
    leader = [0.6] * 4 + [1.0] * 8
    state, opened = standing(template, leader, [0.61] * 4, 4)
    decided = next_in_race(state, opened, 8)
    assert isinstance(decided, RaceEnded)
    assert state.best.score == pytest.approx(1 - 0.4 / 3)
    assert decided.score == pytest.approx(1 - 0.4 / 3 + 0.01)
    assert decided.standard_error is not None


def test_blocks_double_and_a_small_rest_joins_the_last() -> None:
    template, ours = [1.0] * 18, [0.5] * 18
    sizes = []
    seen = 4
    while True:
        state, opened = standing(template, None, ours[:seen], 4)
        decided = next_in_race(state, opened, 14)
        if isinstance(decided, RaceEnded):
            break
        sizes.append(decided.count)
        seen += decided.count
    assert sizes == [4, 10]


def test_without_the_templates_scores_nothing_is_decided() -> None:
    state, opened = standing([1.0] * 6, None, [0.5, 0.5], 2)
    state.template = replace(state.template, raced=())
    with pytest.raises(JournalError, match="not judged on all"):
        next_in_race(state, opened, 4)


async def test_a_result_that_nobody_waits_for_is_refused() -> None:
    journal = MemoryJournal()
    run = await search(journal, SMALL, task=Hurdles())
    for event in (Raced(0, 2, (1.0, 1.0)), RaceEnded(0, 1.0, None, 2), GoneOn(0, 2, 2)):
        with pytest.raises(JournalError):
            run.state.apply(event)
    assert not any(isinstance(event, Responded) for event in journal.events())
