"""EoH-S: generations, the pair that differs most, and the programs that are best together."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from behavesim.methods.eoh_s import POPULATION, EoHS, EoHSSettings, farthest_pair
from behavesim.methods.set_search import set_order, utilities
from behavesim.state.events import Added, Asked, NotAdded, Regrouped
from behavesim.state.members import Member
from tests.engine.toys import Toy
from tests.methods.runs import events_of, final, steps
from tests.methods.states import BRIEF, UNREAD, candidate, member, state_of

METHOD = EoHS(EoHSSettings(population=2), BRIEF)


def scored(number: int, *scores: float) -> Member:
    return member(number, sum(scores) / len(scores), scores=scores)


def test_the_two_shown_are_those_whose_scores_differ_most() -> None:
    members = [scored(number, *np.random.default_rng(number).random(4)) for number in range(6)]
    scores = utilities(members, Toy.objective)
    apart = {pair: np.abs(scores[pair[0]] - scores[pair[1]]).sum() for pair in combinations(range(6), 2)}
    assert farthest_pair(members, np.random.default_rng(0)) == tuple(
        members[place] for place in max(apart, key=apart.__getitem__)
    )


class TestGenerations:
    def test_first_programs_are_asked_for_until_enough_are_feasible(self) -> None:
        assert METHOD.ask(state_of(opened=[candidate(0)]), UNREAD, 1) is not None
        assert METHOD.ask(state_of(opened=[candidate(0), candidate(1)]), UNREAD, 2) is None
        waiting = state_of([scored(0, 1.0)], registered=4)
        waiting.ungrouped = [0]
        assert METHOD.ask(waiting, UNREAD, 4) is None  # 2 · 2 were asked for, and one is feasible
        assert METHOD.regroup(waiting, UNREAD) == Regrouped({POPULATION: (0,)})
        assert METHOD.facts(waiting) == {"set": "none yet, 1 first program"}
        asked = METHOD.ask(state_of(registered=4), UNREAD, 4)
        assert asked is not None and (asked.parents, asked.prompt.operator) == ((), "i1")

    def test_a_generation_is_asked_of_one_population_and_the_next_waits_for_it(self) -> None:
        state = state_of([scored(0, 1.0, 9.0), scored(1, 9.0, 1.0)], {POPULATION: [0, 1]}, registered=2)
        assert METHOD.ask(state, UNREAD, 3) is not None
        assert METHOD.ask(state, UNREAD, 4) is None
        assert METHOD.regroup(state, UNREAD) is None
        state.registered = 4
        state.members[3] = scored(3, 2.0, 2.0)
        state.ungrouped = [3]
        assert METHOD.regroup(state, UNREAD) == Regrouped({POPULATION: (3, 0)})

    def test_a_generation_without_a_feasible_program_leaves_the_set_as_it_is(self) -> None:
        state = state_of([scored(0, 1.0, 9.0), scored(1, 9.0, 2.0)], {POPULATION: [0, 1]}, registered=2)
        state.registered = 4
        assert METHOD.regroup(state, UNREAD) == Regrouped({POPULATION: (0, 1)})

    def test_copies_and_programs_of_the_same_scores_are_not_added(self) -> None:
        state = state_of([scored(0, 1.0), scored(1, 2.0)], {POPULATION: [0]}, registered=5)
        state.ungrouped = [1]
        assert METHOD.register(state, UNREAD, candidate(5, 3.0)) == Added(5, None)
        for twin in (candidate(5, 1.0), candidate(5, 2.0), candidate(0, 3.0), candidate(5)):
            assert METHOD.register(state, UNREAD, twin) == NotAdded(twin.id)


def test_operators_are_drawn_equally_and_a_single_program_is_improved() -> None:
    members = [scored(0, 1.0, 9.0), scored(1, 9.0, 1.0), scored(2, 4.0, 4.0)]
    state = state_of(members, {POPULATION: range(3)}, registered=0)
    method = EoHS(EoHSSettings(population=1000), BRIEF)
    asked = [question for number in range(600) if (question := method.ask(state, UNREAD, number))]
    counts = Counter(question.prompt.operator for question in asked)
    assert abs(counts["cs"] - 300) < 100  # eight standard deviations
    assert {frozenset(each.parents) for each in asked if each.prompt.operator == "cs"} == {frozenset({0, 1})}
    assert {each.parents for each in asked if each.prompt.operator == "ls"} == {(0,), (1,), (2,)}
    alone = EoHS(EoHSSettings(operators=("cs",)), BRIEF).ask(state_of(members[:1], {POPULATION: [0]}), UNREAD, 0)
    assert alone is not None and (alone.parents, alone.prompt.operator) == ((0,), "ls")


@pytest.mark.parametrize("operators", [("cs", "ls"), ("ls",)])
def test_in_a_whole_run_each_population_is_the_best_of_the_last_and_its_children(operators: tuple[str, ...]) -> None:
    events = events_of(method="eoh-s", population=5, operators=operators)
    arranged: list[int] = []
    for state, event in steps(events):
        if isinstance(event, Asked) and event.prompt.operator != "i1":
            assert event.prompt.operator in operators
            assert set(event.parents) <= set(state.groups[POPULATION].members)
        if isinstance(event, Regrouped):
            arranged.append(state.registered)
            pool = [*state.members_of(POPULATION), *(state.members[each] for each in state.ungrouped)]
            order = set_order(pool, utilities(pool, Toy.objective))
            assert event == Regrouped({POPULATION: tuple(pool[place].candidate for place in order[:5])})
    assert set(np.diff(arranged).tolist()) == {5}
    state = final(events)
    assert METHOD.facts(state)["set"].startswith("5 programs")
