"""A person's program is a candidate like any other, but that nobody was asked for it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from behavesim.audit.audit import Audit, discrepancy
from behavesim.audit.recover import RecoveredEvents
from behavesim.base.errors import JournalError
from behavesim.engine.loop import Search
from behavesim.programs.answer import add_fence
from behavesim.proposers.replay import ReplayProposer, repeat_injected
from behavesim.state.events import (
    DECISIONS,
    INJECTED,
    Asked,
    Evaluated,
    Event,
    Injected,
    Prompt,
    Rejected,
    Reply,
    Responded,
)
from behavesim.state.state import RunState
from behavesim.store.codec import decode
from tests.crash.deaths import METHODS
from tests.engine.toys import MemoryJournal, Stop, Toy, ToyProposer, fitting, search

pytestmark = pytest.mark.usefixtures("replies_read_once")

SMALL = {"budget": 28, "window": 8, "islands": 4, "restart_every": 14, "population": 8}


def program(number: int) -> str:
    return f"def number() -> int:\n    return {number}\n"


def events_of(journal: MemoryJournal) -> list[Event]:
    return [decode(*row) for row in journal.rows]


def injected(events: list[Event]) -> dict[int, str]:
    """The candidates that people put in, and their programs."""
    found = [event for event in events if isinstance(event, Asked) and event.prompt.operator == INJECTED]
    return {event.candidate: event.prompt.text for event in found}


def put_in_after(run: Search, registered: int, *sources: str) -> None:
    """Put programs into a search as soon as so many candidates are registered."""
    shown = run.observe

    def show(event: Event, state: RunState) -> None:
        shown(event, state)
        if state.registered >= registered:
            for number, source in enumerate(sources):
                run.bring(Injected(f"{number}.py", source))

    run.observe = show


async def with_programs(journal: MemoryJournal, method: str, *sources: str, **more: Any) -> Search:
    proposer = ToyProposer()
    run = await search(journal, {**SMALL, "method": method, **more}, random.Random(1), proposer)
    put_in_after(run, 12, *sources)
    assert await run.run() == "budget"
    assert not set(proposer.asked) & set(injected(events_of(journal))), "nobody is asked for what is there"
    return run


@pytest.mark.parametrize("method", METHODS)
async def test_a_program_that_is_put_in_is_tried_once_in_place_of_a_question_and_follows_from_the_journal(
    method: str,
) -> None:
    journal = MemoryJournal()
    run = await with_programs(journal, method, program(28), program(13), "no program")
    events = events_of(journal)
    tried = injected(events)
    assert list(tried.values()) == [program(28), program(13), "no program"]
    assert all(candidate >= 12 for candidate in tried)
    outcomes = {e.candidate: e for e in events if isinstance(e, Evaluated | Rejected)}
    first, second, third = (outcomes[candidate] for candidate in tried)
    assert (first.source, isinstance(first, Evaluated)) == (program(28).strip(), True)
    assert [each.reason for each in (second, third) if isinstance(each, Rejected)] == ["exception", "syntax"]
    replies = {e.candidate: e.reply for e in events if isinstance(e, Responded)}
    assert {(replies[candidate].model, replies[candidate].calls) for candidate in tried} == {(INJECTED, ())}
    assert run.state.registered == run.state.asked == 28
    assert sum(tokens.calls for tokens in run.state.tally.tokens.values()) == 25 + len(run.state.notes)

    audit = Audit(fitting({**SMALL, "method": method}), Toy())
    for number, event in enumerate(events, 1):
        if isinstance(event, DECISIONS):
            assert discrepancy(number, audit.due(event), event) is None
        audit.take(event)


@pytest.mark.parametrize("method", METHODS)
async def test_a_replay_tries_each_program_in_the_turn_it_had_and_ends_the_same(method: str) -> None:
    journal = MemoryJournal()
    run = await with_programs(journal, method, program(28), program(13))
    events = events_of(journal)
    replies: dict[int, Reply] = {e.candidate: e.reply for e in events if isinstance(e, Responded)}
    notes = {-2 - number: note.reply for number, note in run.state.notes.items() if note.reply is not None}
    proposer = ReplayProposer({**replies, **notes})
    again = MemoryJournal()
    replay = await search(again, {**SMALL, "method": method}, random.Random(2), proposer)
    await replay.record(*repeat_injected(events))
    assert await replay.run() == "budget"
    assert injected(events_of(again)) == injected(events)
    assert replay.state.digest() == run.state.digest()


@pytest.mark.parametrize("method", ["funsearch", "reevo"])
async def test_a_run_that_begins_with_programs_dies_anywhere_and_goes_on_as_if_it_had_not(method: str) -> None:
    settings = {**SMALL, "method": method, "budget": 12, "window": 4, "repair": 1}
    first = [Injected(f"{number}.py", program(number)) for number in (28, 13, 3)]

    async def begun(journal: MemoryJournal, order: int) -> Search:
        run = await search(journal, settings, random.Random(order))
        if not run.state.brought_names:
            await run.record(*first)
        return run

    journal = MemoryJournal()
    whole = await begun(journal, 0)
    await whole.run()
    assert list(injected(events_of(journal))) == [0, 1, 2]
    assert sum(e.candidate == 1 for e in events_of(journal) if isinstance(e, Asked)) == 1, "nobody can repair it"
    for k in range(6, len(journal.rows), 5):
        broken = MemoryJournal()
        dying = await begun(broken, k)
        broken.die_after = k
        with pytest.raises(Stop):
            await dying.run()
        broken.die_after = None
        resumed = await begun(broken, -k)
        await resumed.run()
        assert resumed.state.digest() == whole.state.digest(), f"after event {k}"
        assert list(injected(events_of(broken))) == [0, 1, 2]


async def test_what_was_put_in_is_taken_once_whoever_asks_and_however_often() -> None:
    journal = MemoryJournal()
    run = await search(journal, {**SMALL, "method": "funsearch"})
    assert not run.bring(Injected("a.py", program(3))), "it has come, and is not committed"
    assert not run.bring(Injected("a.py", program(3)))
    await run.run()
    assert run.bring(Injected("a.py", program(3)))
    resumed = await search(MemoryJournal(journal.rows), {**SMALL, "method": "funsearch", "budget": 32})
    assert resumed.bring(Injected("a.py", program(3))), "a file that outlived the commit is not tried again"
    await resumed.run()
    assert list(injected(events_of(journal))) == [0]


async def test_what_comes_after_the_last_question_waits_for_a_larger_budget() -> None:
    journal = MemoryJournal()
    run = await search(journal, {**SMALL, "method": "funsearch"})
    put_in_after(run, 28, program(3))
    assert await run.run() == "budget"
    assert [waiting.name for waiting in run.state.injected] == ["0.py"]
    grown = await search(MemoryJournal(journal.rows), {**SMALL, "method": "funsearch", "budget": 31})
    await grown.run()
    assert injected(events_of(MemoryJournal(journal.rows))) == {28: program(3)}


async def test_a_free_program_first_lets_no_cap_be_overrun() -> None:
    journal = MemoryJournal()
    run = await search(journal, {**SMALL, "method": "funsearch", "max_tokens": 2000}, random.Random(3))
    await run.record(Injected("a.py", program(3)))
    assert await run.run() == "max_tokens"
    assert 0 < sum(tokens.prompt + tokens.completion for tokens in run.state.tally.tokens.values()) <= 2000


def test_a_journal_in_which_nobody_put_in_what_is_tried_is_refused() -> None:
    state = RunState(Toy.objective)
    with pytest.raises(JournalError, match="candidate 0 is an injected program, and none was injected"):
        state.apply(Asked(0, (), None, Prompt(program(3), INJECTED)))


def test_what_is_salvaged_has_its_turn_again_though_its_question_is_lost() -> None:
    tried, waiting = Injected("a.py", program(3)), Injected("b.py", program(4))
    replies = [Responded(4, Reply(add_fence(tried.source), INJECTED)), Responded(9, Reply("", "m"))]
    salvage = RecoveredEvents.of([tried, waiting, Asked(2, (), None, Prompt("", "improve")), *replies])
    assert salvage.injections == [replace(tried, not_before=4), replace(waiting, not_before=10)]
