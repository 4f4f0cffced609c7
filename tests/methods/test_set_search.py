"""Set search: the order in which a set takes programs, whom its prompts show, and who leaves."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from behavesim.methods.method import MethodContext
from behavesim.methods.set_search import (
    POPULATION,
    SET,
    SetSearch,
    SetSearchSettings,
    Worth,
    lacks,
    set_order,
    utilities,
)
from behavesim.prompts.prompts import Prompts
from behavesim.state.events import TEMPLATE, Added, Asked, Evaluated, NotAdded, Regrouped
from behavesim.state.members import Member
from behavesim.state.state import RunState
from tests.engine.toys import Toy, fitting
from tests.methods.runs import events_of, final, steps
from tests.methods.states import BRIEF, UNREAD, Newcomer, candidate, member, state_of

WORTHS: tuple[Worth, ...] = ("both", "instances", "behaviour", "text")


def scored(number: int, *scores: float, **others: object) -> Member:
    """A program with these scores, which are minimised, on the instances."""
    return member(number, sum(scores) / len(scores), scores=scores, **others)


def known(members: list[Member], *templates: float) -> RunState:
    """A run with this population, not chosen from yet, and the template's scores."""
    state = state_of(members, {POPULATION: [each.candidate for each in members]}, registered=9)
    state.template = state.members[TEMPLATE] = scored(TEMPLATE, *templates)
    return state


def method(**settings: object) -> SetSearch:
    return SetSearch(SetSearchSettings(**{"n_init": 0, "set_size": 2, **settings}), BRIEF)


class TestOrder:
    def test_the_first_is_the_best_and_each_further_one_adds_the_most(self) -> None:
        random = np.random.default_rng(1)
        members = [scored(number, *random.integers(1, 9, 4)) for number in range(8)]
        gains = utilities(members, Toy.objective)
        order = set_order(members, gains)
        assert sorted(order) == list(range(8))
        assert members[order[0]].score == min(each.score for each in members)
        for place in range(1, 8):
            before, rest = order[:place], order[place:]
            together = [gains[[*before, other]].max(axis=0).sum() for other in rest]
            assert together[0] == max(together)
            if max(together) == gains[before].max(axis=0).sum():  # nothing adds: the best by score is next
                assert members[rest[0]].score == min(members[other].score for other in rest)

    def test_greedy_choice_is_within_a_known_factor_of_the_best_set(self) -> None:
        for seed in range(20):
            gains = np.random.default_rng(seed).random((8, 5))
            members = [scored(number, *(-row)) for number, row in enumerate(gains)]
            greedy = gains[set_order(members, gains)[:3]].max(axis=0).mean()
            best = max(gains[list(each)].max(axis=0).mean() for each in combinations(range(8), 3))
            assert greedy >= (1 - 1 / np.e) * best

    def test_near_programs_come_behind_all_far_ones(self) -> None:
        members = [scored(number, 1.0 + number) for number in range(4)]
        near = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]], dtype=float)
        nothing = np.zeros((4, 1))
        assert set_order(members, nothing, near, 0.5) == [0, 2, 1, 3]
        assert set_order(members, nothing, near, 0.0) == [0, 1, 2, 3]

    def test_of_equal_programs_the_shorter_then_the_older_comes_first(self) -> None:
        members = [scored(0, 1.0, source="xxx"), scored(1, 1.0, source="xx"), scored(2, 1.0, source="xx")]
        assert set_order(members, utilities(members, Toy.objective)) == [1, 2, 0]


class TestRegroup:
    def test_the_set_is_chosen_once_initial_programs_are_registered_and_when_someone_joined(self) -> None:
        members = [scored(0, 3.0, 3.0), scored(1, 9.0, 1.0), scored(2, 2.0, 9.0), scored(3, 2.0, 9.5)]
        state = known(members, 10.0, 10.0)
        chosen = Regrouped({SET: (0, 1)}, selection=True)
        found = method(worth="instances")
        assert method(n_init=10).regroup(state, UNREAD) is None
        assert found.regroup(state, UNREAD) == chosen
        state.apply(chosen)
        assert found.regroup(state, UNREAD) is None
        state.groups[POPULATION].members.append(9)  # registered after the set was chosen
        state.members[9] = scored(9, 1.0, 9.0)
        assert found.regroup(state, UNREAD) == Regrouped({SET: (0, 1)}, selection=True)
        assert found.regroup(state_of(registered=9), UNREAD) is None

    def test_instances_weigh_the_same_whatever_the_template_scores_there(self) -> None:
        # 1 is better by a tenth where scores are large, 2 by half where they are small
        members = [scored(0, 100.0, 1.0), scored(1, 90.0, 1.9), scored(2, 199.0, 0.5)]
        assert [m.candidate for m in method(worth="instances").chosen(known(members, 100.0, 1.0))] == [1, 2, 0]


class TestAsk:
    MEMBERS = (scored(0, 3.0, 3.0), scored(1, 9.0, 1.0), scored(2, 3.0, 3.5), scored(3, 2.9, 9.0))

    def state(self) -> RunState:
        state = known(list(self.MEMBERS), 10.0, 10.0)
        state.apply(Regrouped({SET: (0, 1)}, selection=True))
        return state

    def test_initial_programs_are_asked_for_with_the_template_and_nothing_while_they_are_awaited(self) -> None:
        found = method(n_init=4)
        for asked in (found.ask(state_of(), UNREAD, 3), found.ask(state_of(registered=4), UNREAD, 4)):
            assert asked is not None
            assert (asked.parents, asked.prompt.operator) == ((TEMPLATE,), "template")
        assert found.ask(state_of(), UNREAD, 4) is None

    def test_a_program_of_the_set_is_shown_with_one_that_complements_it(self) -> None:
        found, drawn = method(worth="instances"), Counter[frozenset[int]]()
        for number in range(0, 1000, 2):
            asked = found.ask(self.state(), UNREAD, number)
            assert asked is not None and asked.group == POPULATION and asked.prompt.operator == "complement"
            worse, better = (self.MEMBERS[parent] for parent in asked.parents)
            assert worse.merit < better.merit
            drawn[frozenset(asked.parents)] += 1
        assert all(pair & {0, 1} for pair in drawn)
        assert drawn.most_common(1)[0][0] == {0, 1}  # 1 is what 0 lacks

    def test_a_single_program_is_shown_alone(self) -> None:
        state = known([scored(0, 3.0, 3.0)], 10.0, 10.0)
        state.apply(Regrouped({SET: (0,)}, selection=True))
        asked = method().ask(state, UNREAD, 9)
        assert asked is not None and asked.parents == (0,)

    def test_the_prompt_says_where_the_set_gains_least_and_who_is_best_there(self) -> None:
        leader = scored(1, 9.0, 4.0, thought="Go `far` first.")
        state = known([scored(0, 3.0, 8.0), leader, scored(2, 5.0, 9.0)], 10.0, 10.0)
        shown = [state.members[2], state.members[0]]
        words = lacks([state.members[0], leader], shown, state.template, Toy.objective)
        assert "lead over the search's first program is least on instance 2 (60 %, scoring 4), instance 1 (70" in words
        assert "On instance 2 program 1 scores 9 and program 2 scores 8." in words
        assert words.endswith("The idea of the best program there: Go 'far' first.")
        assert "idea" not in lacks([state.members[0], leader], [leader], state.template, Toy.objective)
        single = known([scored(0, 3.0)], 10.0)
        assert lacks([single.members[0]], [], single.template, Toy.objective).endswith("The set's best score is 3.")

    def test_what_is_asked_for_fits_the_number_of_instances_and_what_is_told(self) -> None:
        for scores, feedback, wanted, unwanted in (
            ((3.0, 4.0), "scores", "set's best score on some instance", "other choices"),
            ((3.0,), "scores", "set's best score, or comes near by making other choices", "instance, above"),
            ((3.0, 4.0), "none", "beats those above on some instance", "the set"),
            ((3.0,), "none", "beats those above, or comes near by making other choices", "the set"),
        ):
            state = known([scored(0, *scores)], *[10.0 for _ in scores])
            state.apply(Regrouped({SET: (0,)}, selection=True))
            settings = fitting({"method": "set-search", "prompt_feedback": feedback})
            brief = MethodContext(0, Prompts.of_run(settings, Toy()), takes_notes=True)
            asked = SetSearch(SetSearchSettings(n_init=0), brief).ask(state, UNREAD, 9)
            assert asked is not None and wanted in asked.prompt.text and unwanted not in asked.prompt.text


class TestRegister:
    def test_a_newcomer_is_compared_with_the_population_where_behaviour_counts(self) -> None:
        state = known([scored(0, 3.0), scored(1, 4.0)], 10.0)
        for worth in WORTHS:
            nearness = Newcomer({0: 0.5, 1: 0.5})
            assert method(worth=worth).register(state, nearness, candidate(9, 1.0)) == Added(9, POPULATION)
            assert nearness.read == ([0, 1] if worth in ("both", "behaviour") else [])
            assert method(worth=worth).uses_behaviour == bool(nearness.read)
        assert method().register(state, UNREAD, candidate(1, 4.0)) == NotAdded(1)  # a copy

    def test_whom_the_set_would_take_last_leaves(self) -> None:
        state = known([scored(0, 3.0), scored(1, 9.0), scored(2, 4.0)], 10.0)
        found = method(worth="instances", population=3)
        assert found.register(state, UNREAD, candidate(9, 5.0)) == Added(9, POPULATION, (1,))
        assert found.register(state, UNREAD, candidate(9, 9.5)) == NotAdded(9)
        assert found.register(state, UNREAD, candidate(9)) == NotAdded(9)
        larger = method(worth="instances", population=4)
        assert larger.register(state, UNREAD, candidate(9, 9.5)) == Added(9, POPULATION)
        smaller = method(worth="instances", population=2)  # of a fork
        assert smaller.register(state, UNREAD, candidate(9, 5.0)) == NotAdded(9)
        assert smaller.register(state, UNREAD, candidate(9, 3.5)) == Added(9, POPULATION, (1, 2))


def test_a_person_is_told_of_the_set_and_where_it_is_weakest() -> None:
    assert method(n_init=4).facts(state_of()) == {"set": "none before 4 initial programs"}
    state = known([scored(0, 3.0, 8.0)], 10.0, 10.0)
    state.apply(Regrouped({SET: (0,)}, selection=True))
    assert method().facts(state) == {"set": "1 programs, weakest on instance 2"}


@pytest.mark.parametrize("worth", WORTHS)
def test_in_a_whole_run_the_set_is_what_its_rule_takes_of_the_population(worth: Worth) -> None:
    events = events_of(method="set-search", n_init=20, population=8, set_size=3, worth=worth, window=4, budget=100)
    found = method(worth=worth, n_init=20, population=8, set_size=3)
    for state, event in steps(events):
        if isinstance(event, Asked) and event.candidate >= 20:
            taken = [each.candidate for each in state.members_of(SET)]
            assert taken == [each.candidate for each in found.chosen(state)][:3]
            if event.candidate % 2 == 0:  # the other half shares the question of the one before
                assert set(event.parents) <= set(state.groups[POPULATION].members)
    state = final(events)
    assert len(state.groups[POPULATION].members) == 8
    scores = [e.score for e in events if isinstance(e, Evaluated) and e.candidate >= 0]
    assert state.best_member(state.groups[POPULATION].members).score == min(scores)
