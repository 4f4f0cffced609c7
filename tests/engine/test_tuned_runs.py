"""A run that tunes: candidates whose replies are written by trials, beside those that a model writes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from behavesim.audit.audit import Audit
from behavesim.engine.tuning import FEWEST_TRIALS, trials_each
from behavesim.state.events import (
    TUNE,
    Added,
    Asked,
    Evaluated,
    Event,
    NotAdded,
    Rejected,
    Reply,
    Responded,
    RunForked,
    RunResumed,
    Tuning,
)
from behavesim.state.state import RunState
from tests.crash.deaths import METHODS
from tests.engine.toys import Hurdles, MemoryJournal, ToyProposer, fitting, search

pytestmark = pytest.mark.usefixtures("replies_read_once")

SMALL: Mapping[str, Any] = {"budget": 40, "window": 8, "islands": 4, "restart_every": 15, "tune": 2.0}
EACH = trials_each(SMALL["tune"], SMALL["budget"])


async def ended(
    journal: MemoryJournal, method: str, order: int, proposer: ToyProposer | None = None, **settings: Any
) -> Any:
    """Run to the end what the journal begins; return the search."""
    given = {**SMALL, "method": method, **settings}
    run = await search(journal, given, random.Random(order), proposer, task=Hurdles())
    assert await run.run() == "budget"
    return run


def tuned(journal: MemoryJournal) -> list[Asked]:
    return [event for event in journal.events() if isinstance(event, Asked) and event.prompt.operator == TUNE]


def replies(journal: MemoryJournal) -> dict[int, Responded]:
    return {event.candidate: event for event in journal.events() if isinstance(event, Responded) and event.tuning}


@pytest.mark.parametrize("method", METHODS)
async def test_a_run_that_tunes_comes_out_the_same_in_any_order_and_after_any_death(method: str) -> None:
    whole = MemoryJournal()
    expected = (await ended(whole, method, 0)).state.digest()
    assert tuned(whole)
    again = MemoryJournal()
    assert (await ended(again, method, 1, workers=4)).state.digest() == expected
    assert tuned(again) == tuned(whole)
    killed = len(whole.rows) * (METHODS.index(method) + 1) // (len(METHODS) + 1)  # together all along a run
    journal = MemoryJournal(whole.rows[:killed])
    assert (await ended(journal, method, killed)).state.digest() == expected, f"after event {killed}"
    assert tuned(journal) == tuned(whole), f"after event {killed}"


async def test_a_run_goes_on_after_each_event_of_a_tuned_candidate() -> None:
    whole = MemoryJournal()
    expected = (await ended(whole, "funsearch", 0)).state.digest()
    numbers = {tuned(whole)[0].candidate, tuned(whole)[-1].candidate}
    for killed, event in enumerate(list(whole.events()), 1):
        if killed > 4 and getattr(event, "candidate", None) in numbers:
            journal = MemoryJournal(whole.rows[:killed])
            assert (await ended(journal, "funsearch", killed)).state.digest() == expected
            assert next(each for each in list(journal.events())[killed:] if isinstance(each, RunResumed))


async def test_a_budget_counts_questions_and_the_trials_stay_within_their_share() -> None:
    journal, proposer = MemoryJournal(), ToyProposer(0)
    state: RunState = (await ended(journal, "funsearch", 0, proposer)).state
    assert state.questions == state.registered_questions == SMALL["budget"] == len(proposer.asked)
    assert state.asked == state.registered == SMALL["budget"] + len(tuned(journal))
    assert sorted(proposer.asked) == list(range(SMALL["budget"]))  # questions, as a replay numbers them
    trials = [event.tuning.trials for event in replies(journal).values() if event.tuning]
    assert 0 < sum(trials) == state.trials <= SMALL["tune"] * SMALL["budget"]
    assert max(trials) <= EACH
    registered = 0
    charged = 0.0
    for event in journal.events():
        registered += isinstance(event, Added | NotAdded) and event.candidate not in replies(journal)
        if isinstance(event, Asked) and event.prompt.operator == TUNE:
            charged += replies(journal)[event.candidate].tuning.trials  # type: ignore[union-attr]
            assert charged <= SMALL["tune"] * registered


async def test_what_tuning_finds_is_a_better_candidate_or_no_model_s_failure() -> None:
    outcomes, kinds = dict[int, Evaluated | Rejected](), set[str]()
    for seed in range(2):
        journal = MemoryJournal()
        state: RunState = (await ended(journal, "funsearch", 0, seed=seed, tune=4.0, repair=1)).state
        answered = replies(journal)
        assert [event.candidate for event in tuned(journal)] == sorted(answered)  # none is repaired
        outcomes = {
            event.candidate: event
            for event in journal.events()
            if isinstance(event, Evaluated | Rejected) and event.candidate in answered
        }
        events = list(journal.events())
        parents = {event.candidate: event.parents[0] for event in tuned(journal)}
        sources = {event.candidate: event.source for event in events if isinstance(event, Evaluated)}
        for candidate, outcome in outcomes.items():
            tuning = answered[candidate].tuning
            assert tuning is not None and tuning.gains[0] in (0.0, None)
            if isinstance(outcome, Evaluated):
                kinds.add("better")
                assert outcome.source != sources[parents[candidate]]
                assert sum(tuning.after) < sum(tuning.before) and len(tuning.after) >= 10
            elif outcome.stage == "tune":
                kinds.add("rejected")
                assert (outcome.reason, outcome.source) == ("not-told-apart", "") and outcome.message
        rejected = [each for each in outcomes.values() if isinstance(each, Rejected) and each.stage == "tune"]
        assert state.tally.rejected["not-told-apart"] == 0
        assert not {each.candidate for each in rejected} & {each.rejected.candidate for each in state.tried.failures}
        assert len(state.tally.recent) == SMALL["budget"]
        assert TUNE not in state.models and TUNE not in state.shown_parents
    assert kinds == {"better", "rejected"}


async def test_a_program_is_tuned_once_and_those_that_behave_alike_only_when_no_other_is_left() -> None:
    journal = MemoryJournal()
    state: RunState = (await ended(journal, "funsearch", 0, tune=10.0)).state
    numbers = [member.candidate for member in state.tuned]
    assert len(numbers) == len(set(numbers)) > 2 and -1 not in numbers
    # all programs here differ in one number alone: the first is chosen as new, the others as there is nothing else
    first = tuned(journal)[0]
    events = list(journal.events())
    before = events[: events.index(first)]
    scores = {event.candidate: event.score for event in before if isinstance(event, Evaluated)}
    kept = [event.candidate for event in before if isinstance(event, Added)]
    assert scores[first.parents[0]] == min(scores[candidate] for candidate in kept)


async def test_nothing_is_left_of_tuning_without_a_share_or_with_too_small_a_one() -> None:
    for share in (0.0, 0.3):
        journal = MemoryJournal()
        assert trials_each(share, SMALL["budget"]) == 0
        await ended(journal, "funsearch", 0, tune=share)
        assert not tuned(journal)
    assert [trials_each(*each) for each in ((2, 30), (5, 30), (5, 100), (0.5, 50))] == [30, 75, 100, FEWEST_TRIALS]


def audited(events: list[Event], settings: Mapping[str, Any], before: Sequence[Event] = ()) -> list[int]:
    """The places of replies and decisions that do not follow from the events before them, `before` included."""
    audit, wrong = Audit(fitting(settings), Hurdles()), []
    for event in before:
        audit.take(event)
    for place, event in enumerate(events):
        if isinstance(event, Responded) and audit.reply(event) != event:
            wrong.append(place)
        if isinstance(event, Asked) and audit.due(event) != event:
            wrong.append(place)
        audit.take(event)
    return wrong


async def test_a_fork_that_tunes_no_more_gives_up_an_open_tuning_and_is_verified() -> None:
    journal = MemoryJournal()
    await ended(journal, "best-of-n", 0, budget=10, tune=4.0)
    begun = list(journal.events()).index(tuned(journal)[0]) + 1
    fork = MemoryJournal(journal.rows[:begun])
    settings = {**SMALL, "method": "best-of-n", "budget": 10, "tune": 0.0}
    await fork.append([RunForked("first", fitting(settings).flat(), {})])
    state: RunState = (await ended(fork, "best-of-n", 0, budget=10, tune=0.0)).state
    assert (len(tuned(fork)), state.questions, state.open) == (1, 10, {})
    events = list(fork.events())
    assert audited(events[begun:], settings, events[:begun]) == []


async def test_a_verification_notices_trials_that_are_forged() -> None:
    journal = MemoryJournal()
    settings = {**SMALL, "method": "funsearch", "tune": 4.0}
    await ended(journal, "funsearch", 0, tune=4.0)
    events = list(journal.events())
    assert audited(events, settings) == []
    found = [(place, each) for place, each in enumerate(events) if isinstance(each, Responded) and each.tuning]
    for place, event in (found[0], found[-1]):
        tuning = event.tuning
        assert tuning is not None
        forgeries = [
            replace(tuning, gains=(0.0, *(-gain if gain else gain for gain in tuning.gains[1:]))),
            replace(tuning, gains=tuning.gains[:-1], values=tuning.values[:-1]),
            replace(tuning, gains=(*tuning.gains, 0.5), values=(*tuning.values, tuning.values[-1])),
            replace(tuning, values=(*tuning.values[:-1], (3.0,))),
            replace(tuning, before=tuning.before + (1.0,) * 10, after=tuning.after + (0.5,) * 10),
            Tuning((), ()),
        ]
        told = [replace(event, tuning=each) for each in forgeries]
        told += [replace(event, tuning=None), replace(event, reply=Reply("```python\nx = 3\n```", TUNE))]
        for forged in told:
            if forged != event:
                assert place in audited([*events[:place], forged], settings), forged
