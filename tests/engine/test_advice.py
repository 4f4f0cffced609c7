"""A person's advice stands in the prompts of later candidates, and in no others, however the run comes about."""

from __future__ import annotations

import random
from typing import Any

import pytest

from behavesim.audit.audit import Audit, discrepancy
from behavesim.audit.recover import RecoveredEvents
from behavesim.engine.loop import Search
from behavesim.prompts.feedback import with_advice
from behavesim.proposers.replay import ReplayProposer, brought_again
from behavesim.state.events import DECISIONS, Advised, Asked, Event, NoteAsked, NoteReceived, Responded
from behavesim.state.state import RunState
from behavesim.store.codec import decode
from tests.engine.toys import MemoryJournal, Toy, fitting, search

pytestmark = pytest.mark.usefixtures("replies_read_once")

SMALL = {"budget": 40, "window": 8, "islands": 4, "restart_every": 20, "population": 8, "repair": 1}
HEADING = "\n\nAdvice of the person who runs this search:\n"
FIRST, SECOND = "Choose 7.", "Rather ```8```."


def events_of(journal: MemoryJournal) -> list[Event]:
    return [decode(*row) for row in journal.rows]


def advise_after(run: Search, told: dict[int, str]) -> None:
    """Advise a search, each time once so many candidates are registered."""
    shown = run.observe

    def show(event: Event, state: RunState) -> None:
        shown(event, state)
        for registered, text in told.items():
            if state.registered >= registered:
                run.bring(Advised(f"{registered}.txt", text))

    run.observe = show


async def advised(journal: MemoryJournal, method: str, **more: Any) -> Search:
    run = await search(journal, {**SMALL, "method": method, **more}, random.Random(1))
    advise_after(run, {8: FIRST, 14: SECOND, 22: ""})
    assert await run.run() == "budget"
    return run


def said_in(events: list[Event]) -> dict[int, str]:
    """The advice in the first prompt for each candidate, where there is some."""
    first: dict[int, str] = {}
    for event in events:
        if isinstance(event, Asked):
            first.setdefault(event.candidate, event.prompt.text)
    return {candidate: text.split(HEADING)[1] for candidate, text in first.items() if HEADING in text}


@pytest.mark.parametrize("wording", ["full", "paper"])
@pytest.mark.parametrize("method", ["funsearch+behavesim", "eoh", "reevo"])
async def test_advice_stands_in_later_prompts_until_it_is_withdrawn_and_follows_from_the_journal(
    method: str, wording: str
) -> None:
    journal = MemoryJournal()
    run = await advised(journal, method, prompts=wording, samples_per_prompt=3)
    events, (first, second) = events_of(journal), run.state.advice
    assert 8 <= first.since < second.since < 40
    assert first.until == second.until == run.state.advised[-1].not_before < 40
    both = f"- {FIRST}\n- Rather '''8'''."
    assert said_in(events) == {
        **dict.fromkeys(range(first.since, second.since), f"- {FIRST}"),
        **dict.fromkeys(range(second.since, first.until), both),
    }
    assert not any(HEADING in event.prompt.text for event in events if isinstance(event, NoteAsked))

    audit = Audit(fitting({**SMALL, "method": method, "prompts": wording, "samples_per_prompt": 3}), Toy())
    for number, event in enumerate(events, 1):
        if isinstance(event, DECISIONS):
            assert discrepancy(number, audit.due(event), event) is None
        audit.take(event)


@pytest.mark.parametrize("method", ["funsearch+behavesim", "reevo"])
async def test_a_replay_decides_as_the_run_did_prompts_included(method: str) -> None:
    journal = MemoryJournal()
    run = await advised(journal, method, repair=0)
    events = events_of(journal)
    replies = {e.candidate: e.reply for e in events if isinstance(e, Responded)}
    notes = {-2 - e.number: e.reply for e in events if isinstance(e, NoteReceived)}
    again = MemoryJournal()
    settings = {**SMALL, "method": method, "repair": 0}
    replay = await search(again, settings, random.Random(2), ReplayProposer({**replies, **notes}))
    await replay.record(*brought_again(events))
    await replay.run()
    assert [e for e in events_of(again) if isinstance(e, DECISIONS)] == [e for e in events if isinstance(e, DECISIONS)]
    assert (replay.state.digest(), replay.state.advice) == (run.state.digest(), run.state.advice)
    assert replay.state.advised == RecoveredEvents.of(events).advised, "a recovered run gets it at the same places"


async def test_advice_changes_nothing_but_prompts_and_is_taken_once() -> None:
    settings = {**SMALL, "method": "funsearch"}
    plain, journal = await search(MemoryJournal(), settings), MemoryJournal()
    await plain.run()
    run = await search(journal, settings)
    assert not run.bring(Advised("a.txt", FIRST)), "it has come, and is not committed"
    await run.run()
    assert run.bring(Advised("a.txt", FIRST))
    assert (run.state.digest(), len(said_in(events_of(journal)))) == (plain.state.digest(), 40)
    resumed = await search(journal, {**settings, "budget": 44})
    assert resumed.bring(Advised("a.txt", FIRST)), "a file that outlived the commit is not taken again"
    await resumed.run()
    assert said_in(events_of(journal)) == dict.fromkeys(range(44), f"- {FIRST}")


def test_a_prompt_that_has_its_advice_already_gets_it_no_second_time() -> None:
    state = RunState(Toy.objective)
    assert with_advice("Write a program.", state, 0) == "Write a program."
    state.apply(Advised("a.txt", FIRST))
    once = with_advice("Write a program.", state, 0)
    assert once == f"Write a program.{HEADING}- {FIRST}" == with_advice(once, state, 0)
