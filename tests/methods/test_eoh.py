"""EoH's population: how it is filled, whom it shows, who stays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from behavesim.methods.eoh import POPULATION, EoH, EoHSettings
from behavesim.prompts.shown import programs_to_vary
from behavesim.similarity import BehaveSim
from behavesim.state.events import Added, Asked, Compared, Evaluated, NotAdded
from behavesim.state.state import RunState
from tests.engine.toys import Toy
from tests.methods.runs import events_of, final, steps
from tests.methods.states import BRIEF, UNREAD, Newcomer, candidate, member, state_of

METHODS = ["eoh", "eoh+behavesim"]
SIZE = 6
"""The toy has seven scores, and plain EoH keeps one program of each."""


def population(state: RunState) -> list[int]:
    return state.groups[POPULATION].members if POPULATION in state.groups else []


@pytest.mark.parametrize("method", METHODS)
def test_first_programs_are_asked_for_until_the_population_is_full_and_no_longer(method: str) -> None:
    for state, event in steps(events_of(method=method, population=SIZE)):
        if isinstance(event, Asked):
            enough = event.candidate >= 2 * SIZE and population(state)
            assert (event.prompt.operator == "i1") == (len(population(state)) < SIZE and not enough)
            if event.prompt.operator == "i1":
                assert len(population(state)) + len(state.open) < SIZE
                assert event.parents == ()


@pytest.mark.parametrize("operators", [("e1", "e2", "m1", "m2"), ("e1", "e2", "m1", "m2", "m3"), ("m2",)])
def test_the_operators_take_turns(operators: tuple[str, ...]) -> None:
    events = events_of(method="eoh", population=SIZE, operators=operators, ask_once=False)
    asked = [e for e in events if isinstance(e, Asked) and e.prompt.operator != "i1"]
    assert [e.prompt.operator for e in asked] == [operators[e.candidate % len(operators)] for e in asked]
    counts = Counter(e.prompt.operator for e in asked)
    assert max(counts.values()) - min(counts[operator] for operator in operators) <= 1


@pytest.mark.parametrize("method", METHODS)
def test_parents_are_different_members_shown_from_worse_to_better(method: str) -> None:
    for state, event in steps(events_of(method=method, population=SIZE)):
        if not isinstance(event, Asked) or event.prompt.operator == "i1":
            continue
        assert len(event.parents) == len(set(event.parents)) == (2 if event.prompt.operator in ("e1", "e2") else 1)
        assert set(event.parents) <= set(population(state))
        shown = [state.members[parent] for parent in event.parents]
        assert [member.utility for member in shown] == sorted(member.utility for member in shown)
        assert [block.strip() for block in programs_to_vary(event.prompt.text)] == [m.source.strip() for m in shown]


@pytest.mark.parametrize("method", METHODS)
def test_the_population_never_holds_a_program_twice_nor_loses_its_best(method: str) -> None:
    best: float | None = None
    for state, event in steps(events_of(method=method, population=SIZE)):
        members = [state.members[m] for island in state.islands.values() for m in island.members]
        assert len(members) <= SIZE
        assert len({member.program_hash for member in members}) == len(members)
        assert method != "eoh" or len({member.score for member in members}) == len(members)
        if isinstance(event, Added | NotAdded) and state.best is not None:
            assert state.best.candidate in population(state)
            assert best is None or state.best.utility >= best
            best = state.best.utility


def test_plain_eoh_keeps_the_first_program_of_each_of_the_best_scores() -> None:
    events = events_of(method="eoh", population=SIZE)
    first: dict[float, Evaluated] = {}
    for event in sorted(
        (e for e in events if isinstance(e, Evaluated) and e.candidate >= 0), key=lambda e: e.candidate
    ):
        first.setdefault(event.score, event)
    wanted = sorted(first.values(), key=lambda e: (e.score, e.candidate))[:SIZE]
    assert population(final(events)) == sorted(e.candidate for e in wanted)


def test_with_behaviour_every_pair_of_members_has_been_compared_within_bounds() -> None:
    events = events_of(method="eoh+behavesim", population=SIZE)
    assert all(0 <= value <= 1 for e in events if isinstance(e, Compared) for value in e.to_members.values())
    state, measure = final(events), BehaveSim(Toy.normaliser)
    behaviour = {e.candidate: e.trajectories for e in events if isinstance(e, Evaluated)}
    members = population(state)
    assert len(members) == SIZE
    for place, younger in enumerate(members):
        for elder in members[:place]:
            expected = measure.between(behaviour[younger], behaviour[elder])
            assert state.members[younger].similarity[elder] == pytest.approx(expected, abs=1e-12)


def test_plain_eoh_compares_nothing() -> None:
    assert not [e for e in events_of(method="eoh") if isinstance(e, Compared)]


def test_the_methods_keep_different_programs() -> None:
    plain, ours = [final(events_of(method=method, population=SIZE, ask_once=False, budget=200)) for method in METHODS]
    assert plain.best is not None and ours.best is not None
    worst = [min(state.members[m].utility for m in population(state)) for state in (plain, ours)]
    assert worst[1] < worst[0]  # a place is worth more to an unlike program than to another good one


def test_no_more_first_programs_are_asked_for_than_there_is_room_for() -> None:
    method = EoH(EoHSettings(population=4), BRIEF)
    held = state_of([member(0), member(1)], {POPULATION: [0, 1]}, opened=[candidate(2)])
    asked = method.ask(held, UNREAD, 3)
    assert asked is not None
    assert (asked.candidate, asked.parents, asked.prompt.operator, asked.prompt.asks_thought) == (3, (), "i1", True)
    held.open[3] = candidate(3)
    assert method.ask(held, UNREAD, 4) is None


def test_a_prompt_shows_no_more_programs_than_there_are() -> None:
    state = state_of([member(0, 1.0), member(1, 2.0)], {POPULATION: [0, 1]})
    asked = EoH(EoHSettings(population=2, operators=("e1",), examples_per_prompt=5), BRIEF).ask(state, UNREAD, 9)
    assert asked is not None
    assert (asked.parents, asked.group, asked.prompt.asks_thought) == ((1, 0), POPULATION, True)


def test_of_parents_as_good_the_older_is_shown_last() -> None:
    state = state_of([member(0, 1.0), member(1, 1.0)], {POPULATION: [0, 1]})
    asked = EoH(EoHSettings(population=2, operators=("e2",)), BRIEF).ask(state, UNREAD, 9)
    assert asked is not None
    assert asked.parents == (1, 0)


HELD = state_of([member(0, 3.0, program_hash="a"), member(1, 5.0, program_hash="b")], {POPULATION: [0, 1]})


@pytest.mark.parametrize(
    ("score", "decided"),
    [
        (4.0, Added(2, POPULATION, (1,))),  # better than the worst
        (5.0, NotAdded(2)),  # no better than the worst, which is older
        (6.0, NotAdded(2)),
        (None, NotAdded(2)),
    ],
)
def test_a_full_population_takes_what_is_better_than_its_worst(score: float | None, decided: Added | NotAdded) -> None:
    assert EoH(EoHSettings(population=2), BRIEF).register(HELD, UNREAD, candidate(2, score)) == decided


def test_a_program_that_the_population_has_is_neither_compared_nor_added() -> None:
    method, nearness = EoH(EoHSettings(population=3, selection="dissimilarity"), BRIEF), Newcomer({0: 0.2, 1: 0.2})
    new, known = candidate(2, 1.0), candidate(2, 1.0)
    known.outcome = Evaluated(2, "", 1.0, (1.0,), (), program_hash="b")
    assert method.register(HELD, nearness, known) == NotAdded(2)
    assert nearness.read == []
    assert method.register(HELD, nearness, new) == Added(2, POPULATION)
    assert nearness.read == [0, 1]


def test_plain_eoh_refuses_a_program_with_a_score_that_it_has_and_with_behaviour_it_may_join() -> None:
    equal = candidate(2, 3.0)
    assert EoH(EoHSettings(population=3), BRIEF).register(HELD, UNREAD, equal) == NotAdded(2)
    with_behaviour = EoH(EoHSettings(population=3, selection="dissimilarity"), BRIEF)
    assert with_behaviour.register(HELD, Newcomer({0: 0.2, 1: 0.2}), equal) == Added(2, POPULATION)


def test_plain_eoh_goes_on_where_there_are_fewer_scores_than_places() -> None:
    method, state = EoH(EoHSettings(population=4), BRIEF), state_of([member(0), member(1, 2.0)], {POPULATION: [0, 1]})
    operators = [asked.prompt.operator for number in (7, 8) if (asked := method.ask(state, UNREAD, number))]
    assert operators == ["i1", "e1"]
    alone = state_of([member(0)], {POPULATION: [0]})
    operators = [asked.prompt.operator for number in (8, 9, 10, 11) if (asked := method.ask(alone, UNREAD, number))]
    assert operators == ["m1", "m1", "m1", "m2"]  # one program shares no idea with others
    nothing = method.ask(state_of(), UNREAD, 8)
    assert nothing is not None and nothing.prompt.operator == "i1"


def test_better_members_are_parents_more_often() -> None:
    state = state_of([member(number, float(number)) for number in range(4)], {POPULATION: range(4)})
    method = EoH(EoHSettings(population=4, operators=("m1",)), BRIEF)
    drawn = Counter(asked.parents for number in range(2000) if (asked := method.ask(state, UNREAD, number)))
    expected = 1 / (np.arange(1, 5) + 4)
    assert [drawn[number,] / 2000 for number in range(4)] == pytest.approx(expected / expected.sum(), abs=0.03)
