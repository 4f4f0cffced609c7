"""FunSearch's archive of islands, and each of the settings that take a part of it away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from behavesim.methods.funsearch import FunSearch, FunSearchBehaveSimSettings, FunSearchSettings
from behavesim.methods.method import method_of
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Asked, Compared, Evaluated, NotAdded, Regrouped
from behavesim.state.members import Group, Member
from behavesim.state.state import RunState
from tests.engine.toys import Toy, fitting
from tests.methods.runs import Events, events_of, final, steps
from tests.methods.states import BRIEF, UNREAD, Alike, candidate, member, state_of

OURS: dict[str, Any] = {"method": "funsearch+behavesim", "islands": 4, "n_init": 40}
PLAIN: dict[str, Any] = {"method": "funsearch", "islands": 4}
FOUR_ISLANDS = state_of(
    [member(0, 5.0), member(1, 3.0), member(2, 4.0), member(3, 2.0), member(4, 8.0)],
    {"0": [0], "1": [1], "2": [2, 3], "3": [4]},
    registered=1,
)
"""Islands whose best have the scores 5, 3, 2 and 8."""


def homes(state: RunState, member: int) -> set[str]:
    return {name for name, island in state.groups.items() if member in island.members}


def founding(events: Events) -> Regrouped:
    return next(e for e in events if isinstance(e, Regrouped))


def restarts(events: Events) -> list[Regrouped]:
    return [event for event in events if isinstance(event, Regrouped)][1:]


def improving(events: Events) -> list[tuple[RunState, Asked]]:
    return [(s, e) for s, e in steps(events) if isinstance(e, Asked) and e.prompt.operator == "improve"]


def test_every_prompt_is_asked_as_often_as_set() -> None:
    asked = [e for e in events_of(**PLAIN, samples_per_prompt=3, budget=90) if isinstance(e, Asked)]
    assert all(len({e.parents for e in asked[start : start + 3]}) == 1 for start in range(0, 90, 3))
    assert len({(e.parents, e.group) for e in asked}) > 10


def test_examples_are_different_programs_from_worse_to_better() -> None:
    for events in (events_of(**PLAIN, restart_every=0), events_of(**OURS, restart_every=0)):
        for state, asked in improving(events):
            if asked.candidate % 2 == 0:
                utilities = [state.members[parent].utility for parent in asked.parents]
                assert utilities == sorted(utilities)
                assert len({state.members[parent].source for parent in asked.parents}) == len(asked.parents)


@pytest.mark.parametrize(("p_s1", "apart"), [(0.0, 0.0), (0.5, 0.5)])
def test_p_s1_is_how_often_the_examples_come_from_two_islands(p_s1: float, apart: float) -> None:
    prompts = [pair for pair in improving(events_of(**OURS, p_s1=p_s1, restart_every=0)) if len(pair[1].parents) > 1]
    crossing = Counter()
    for state, asked in prompts[::2]:
        shared = set.intersection(*(homes(state, parent) for parent in asked.parents))
        crossing[not shared] += 1
    assert crossing[True] / crossing.total() == pytest.approx(apart, abs=0.2)
    assert crossing.total() > 25


def test_a_childs_island_can_be_that_of_its_better_parent() -> None:
    events = events_of(**OURS, placement="parent")
    asked = {e.candidate: e for e in events if isinstance(e, Asked)}
    placed = [e for e in events if isinstance(e, Added) and e.group is not None]
    assert placed
    assert all(e.group == asked[e.candidate].group for e in placed if asked[e.candidate].group is not None)
    assert not [e for e in events if isinstance(e, Compared)]


def test_a_childs_island_can_be_drawn_blindly() -> None:
    method = FunSearch(FunSearchSettings(placement="random"), BRIEF)
    drawn = [method.register(FOUR_ISLANDS, UNREAD, candidate(number, 1.0, group="0")) for number in range(1000)]
    counts = Counter(each.group for each in drawn if isinstance(each, Added))
    assert [counts[str(island)] / 1000 for island in range(4)] == pytest.approx([0.25] * 4, abs=0.04)


def test_a_childs_island_is_that_of_greatest_mean_similarity() -> None:
    compared: dict[int, Compared] = {}
    for event in events_of(**OURS):
        if isinstance(event, Compared):
            compared[event.candidate] = event
        if isinstance(event, Added) and event.group is not None:
            similarity = compared[event.candidate].to_groups
            assert similarity[event.group] == max(similarity.values())


def test_the_first_programs_can_be_dealt_instead_of_clustered() -> None:
    dealt, clustered = [founding(events_of(**OURS, clustered_start=start)) for start in (False, True)]
    assert {m for island in dealt.groups.values() for m in island} == {
        m for island in clustered.groups.values() for m in island
    }
    sizes = [len(island) for island in dealt.groups.values()]
    assert max(sizes) - min(sizes) <= 1
    assert dealt != clustered


def test_first_programs_worse_than_the_template_can_be_left_out() -> None:
    events = events_of(**OURS, keep_worse_than_template=False)
    template = next(e for e in events if isinstance(e, Evaluated) and e.candidate == TEMPLATE)
    for state, event in steps(events):
        if isinstance(event, Added | NotAdded) and not state.groups:
            outcome = state.open[event.candidate].outcome
            good = isinstance(outcome, Evaluated) and outcome.score <= template.score
            assert isinstance(event, Added) == good
    assert Toy.objective.direction == "minimise"


@pytest.mark.parametrize(("every", "times"), [(0, 0), (50, 2)])
def test_islands_restart_as_often_as_set(every: int, times: int) -> None:
    # of 120 candidates: none at the end, where nothing more is asked
    events = events_of(**PLAIN, restart_every=every)
    assert len(restarts(events)) == times


def test_an_overdue_restart_is_made_up_for_once_and_none_follows_the_founding_at_once() -> None:
    told = restarted_at(**OURS, restart_every=10)
    assert told == list(range(OURS["n_init"] + 10, 120, 10))


def test_a_restart_empties_the_worse_half_and_refills_it_from_the_better() -> None:
    for best, event in bests_at_restarts(**PLAIN, restart_every=50):
        survivors = set(best) - set(event.groups)
        assert len(event.groups) == len(survivors) == 2
        assert max(best[i].utility for i in event.groups) <= min(best[i].utility for i in survivors)
        assert {m for members in event.groups.values() for m in members} <= {best[i].candidate for i in survivors}


def bests_at_restarts(**settings: Any) -> list[tuple[dict[str, Member], Regrouped]]:
    """The best program of each island just before each restart, and the restart."""
    found = []
    for state, event in steps(events_of(**settings)):
        if isinstance(event, Regrouped) and state.groups:
            found.append(({name: state.best_member(group.members) for name, group in state.groups.items()}, event))
    assert found
    return found


def restarted_at(**settings: Any) -> list[int]:
    """How many candidates were registered at each restart."""
    events = events_of(**settings)
    return [state.registered for state, event in steps(events) if isinstance(event, Regrouped) and state.groups]


@pytest.mark.parametrize(("choice", "expected"), [("uniform", [0.25] * 4), ("rank", [3 / 25, 6 / 25, 12 / 25, 4 / 25])])
def test_islands_are_drawn_uniformly_or_by_the_rank_of_their_best(choice: str, expected: list[float]) -> None:
    method = FunSearch(FunSearchSettings(island_choice=choice), BRIEF)  # type: ignore[arg-type]
    drawn = Counter(asked.group for number in range(0, 3000, 2) if (asked := method.ask(FOUR_ISLANDS, UNREAD, number)))
    assert [drawn[str(island)] / 1500 for island in range(4)] == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("choice", ["uniform", "rank"])
def test_islands_of_one_prompt_are_different_ones(choice: str) -> None:
    method = FunSearch(FunSearchSettings(island_choice=choice, p_s1=1.0), BRIEF)  # type: ignore[arg-type]
    for number in range(0, 200, 2):
        asked = method.ask(FOUR_ISLANDS, UNREAD, number)
        assert asked is not None
        assert not set.intersection(*(homes(FOUR_ISLANDS, parent) for parent in asked.parents))


def test_the_task_and_the_budget_say_how_a_run_begins() -> None:
    plain, ours = FunSearchSettings.suited(Toy(), 100), FunSearchBehaveSimSettings.suited(Toy(), 100)
    assert plain == {"score_scale": Toy.score_scale, "n_init": 0, "islands": 2, "samples_per_prompt": 1}
    assert ours == {**plain, "n_init": 25}
    assert FunSearchBehaveSimSettings.suited(Toy(), 2000)["n_init"] == 100


def test_nothing_is_asked_while_the_islands_wait_for_the_last_of_the_initial_programs() -> None:
    method = FunSearch(FunSearchSettings(n_init=4), BRIEF)
    first = method.ask(state_of(), UNREAD, 3)
    assert first is not None
    assert (first.candidate, first.parents, first.group, first.prompt.operator) == (3, (TEMPLATE,), None, "template")
    assert method.ask(state_of(), UNREAD, 4) is None


@pytest.mark.parametrize(("registered", "is_due"), [(49, False), (50, True), (51, True), (149, True)])
def test_a_restart_is_due_where_a_multiple_of_the_period_was_passed(registered: int, is_due: bool) -> None:
    state = state_of([member(0)], {"0": [0], "1": [0]}, registered=10)
    state.registered = registered
    assert (FunSearch(FunSearchSettings(restart_every=50), BRIEF).regroup(state, UNREAD) is not None) == is_due


@pytest.mark.parametrize("period", [{"restart_every": 5}, {"restart_every_s": 1.0}])
def test_a_single_island_is_never_restarted(period: dict[str, Any]) -> None:
    state = state_of([member(0)], {"0": [0]}, registered=60)
    state.active_s = 60.0
    chosen = FunSearch(FunSearchSettings(islands=1, **period), BRIEF)
    assert chosen.regroup(state, UNREAD) is None
    assert chosen.facts(state) == {}


def test_a_search_with_a_single_island_goes_on_without_restarts() -> None:
    assert not restarts(events_of(**PLAIN | {"islands": 1}, restart_every=5))


def test_a_restart_of_an_odd_number_of_islands_spares_the_larger_half() -> None:
    members = [member(number, float(number)) for number in range(5)]
    state = state_of(members, {str(number): [number] for number in range(5)}, registered=10)
    state.registered = 50
    restart = FunSearch(FunSearchSettings(restart_every=50), BRIEF).regroup(state, UNREAD)
    assert isinstance(restart, Regrouped)
    assert list(restart.groups) == ["3", "4"]
    assert {held for (held,) in restart.groups.values()} <= {0, 1, 2}


def test_which_of_equal_islands_are_emptied_is_drawn() -> None:
    members = [member(number, 1.0) for number in range(4)]
    emptied = set()
    for seed in range(20):
        state = state_of(members, {str(number): [number] for number in range(4)})
        state.registered = 50
        restart = FunSearch(FunSearchSettings(restart_every=50), replace(BRIEF, seed=seed)).regroup(state, UNREAD)
        assert isinstance(restart, Regrouped)
        emptied.update(restart.groups)
    assert emptied == {"0", "1", "2", "3"}


SIX = [member(number, score) for number, score in enumerate((5.0, 3.0, 4.0, 2.0, 6.0, 7.0))]
BEHAVIOURS = ((0, 1, 2), (3,), (4, 5))
"""Candidates 0 to 5 by what they do."""
ALIKE = Alike(
    [[float(any({one, other} <= set(same) for same in BEHAVIOURS)) for one in range(6)] for other in range(6)]
)


def first_islands(alike: Alike, programs: Sequence[Member], seed: int = 0, **settings: Any) -> Regrouped:
    """The islands that some initial programs are grouped into."""
    state = state_of(programs, registered=len(programs))
    state.ungrouped = [each.candidate for each in programs]
    method = FunSearch(FunSearchBehaveSimSettings(n_init=len(programs), **settings), replace(BRIEF, seed=seed))
    decided = method.regroup(state, alike)
    assert isinstance(decided, Regrouped)
    return decided


@pytest.mark.parametrize("by", ["kmeans", "average"])
def test_programs_that_behave_alike_begin_on_one_island(by: str) -> None:
    islands = first_islands(ALIKE, SIX, islands=3, clustering=by)
    assert islands.groups == {"0": (0, 1, 2), "1": (3,), "2": (4, 5)}


def test_an_island_for_which_no_behaviour_is_left_begins_with_the_best_program() -> None:
    for seed in range(20):
        islands = first_islands(ALIKE, SIX, seed, islands=5)
        assert islands.groups == {"0": (0, 1, 2), "1": (3,), "2": (4, 5), "3": (3,), "4": (3,)}


@pytest.mark.parametrize("settings", [{"clustering": "kmeans"}, {"clustering": "average"}, {"clustered_start": False}])
@pytest.mark.parametrize("programs", [1, 3, 6, 30])
def test_there_are_never_more_islands_than_initial_programs(settings: dict[str, Any], programs: int) -> None:
    first = [member(number, float(number)) for number in range(programs)]
    decided = first_islands(Alike(np.eye(programs).tolist()), first, **settings)
    assert len(decided.groups) == min(programs, 10)
    assert sorted(number for held in decided.groups.values() for number in held) == list(range(programs))


@pytest.mark.parametrize(("added", "share"), [(0, 0.731), (5, 0.881), (9, 1.0), (10, 0.731)])
def test_better_clusters_are_surer_to_be_drawn_as_an_island_cools(added: int, share: float) -> None:
    # scores apart by the scale: e / (1 + e) at the full temperature of 1, e² / (1 + e²) at half of it
    state = state_of([member(0, 4.0), member(1, 2.0)], {"0": [0, 1]})
    state.groups["0"].added = added
    settings = {"cluster_temperature": 1.0, "cluster_temperature_period": 10, "score_scale": 2.0}
    method = FunSearch(FunSearchSettings(examples_per_prompt=1, **settings), BRIEF)  # type: ignore[arg-type]
    drawn = Counter(asked.parents for number in range(0, 1000, 2) if (asked := method.ask(state, UNREAD, number)))
    assert drawn[1,] / 500 == pytest.approx(share, abs=0.04)


def test_a_scale_from_the_islands_own_scores_prefers_the_better_whatever_their_size() -> None:
    method = FunSearch(FunSearchSettings(examples_per_prompt=1, score_scale=0), BRIEF)
    drawn = []
    for size in (1e-3, 1.0, 1e6):
        state = state_of([member(0, 5.0 * size), member(1, 4.0 * size), member(2, 3.0 * size)], {"0": [0, 1, 2]})
        drawn.append([asked.parents[0] for number in range(0, 400, 2) if (asked := method.ask(state, UNREAD, number))])
    assert drawn[0] == drawn[1] == drawn[2]  # the toy's objective minimises: 2 is the best, 1 the median
    assert Counter(drawn[0])[1] / Counter(drawn[0])[2] == pytest.approx(np.exp(-3), abs=0.04)


def test_a_person_is_told_what_is_awaited() -> None:
    state = state_of([member(0)], registered=3)
    state.ungrouped = [0]
    method = FunSearch(FunSearchSettings(n_init=4, restart_every=50), BRIEF)
    assert method.facts(state) == {"initial programs": "1 of 4, not in islands yet"}
    two = {"0": [0], "1": [0]}
    assert method.facts(state_of([member(0)], two, registered=49)) == {"next restart": "at candidate 50"}
    assert method.facts(state_of([member(0)], two, registered=50)) == {"next restart": "at candidate 100"}
    never = FunSearch(FunSearchSettings(restart_every=0), BRIEF)
    assert never.facts(state_of([member(0)], two, registered=49)) == {}


def examples(islands: list[dict[str, float]], draws: int = 60, **settings: Any) -> list[list[str]]:
    """The programs of many prompts made from islands of given programs; a program's normal form is its first letter."""
    state, names = RunState(Toy.objective), sorted({name for island in islands for name in island})
    for number, island in enumerate(islands):
        state.groups[str(number)] = Group([names.index(name) for name in island])
        for name, score in island.items():
            member = Member(names.index(name), name, score, Toy.objective.utility(score), program_hash=name[0])
            state.members[member.candidate] = member
    method = FunSearch(FunSearchSettings(islands=len(islands), **settings), BRIEF)
    asked = [method.ask(state, UNREAD, candidate) for candidate in range(0, 2 * draws, 2)]
    return [[names[parent] for parent in each.parents] for each in asked if each is not None]


def test_a_program_in_other_words_is_no_second_example() -> None:
    shown = examples([{"a": 2.0, "a, renamed": 2.0, "b": 3.0}, {"a again": 2.0, "b": 3.0}], p_s1=0.5)
    assert all(sorted(name[0] for name in pair) == ["a", "b"] for pair in shown)


def test_an_island_with_nothing_new_to_show_leaves_its_turn_to_another() -> None:
    assert all(len(pair) == 2 for pair in examples([{"a": 2.0, "b": 3.0}, {"a": 2.0}], p_s1=1.0))
    assert all(pair == ["a"] for pair in examples([{"a": 2.0}, {"a": 2.0}], p_s1=1.0))


@pytest.mark.parametrize("p_s1", [0.0, 1.0])
def test_examples_of_one_island_differ_in_score_where_they_can(p_s1: float) -> None:
    assert all("c" in pair for pair in examples([{"a": 2.0, "b": 2.0, "c": 3.0}], p_s1=p_s1))


def test_scores_as_far_apart_as_floats_go_can_be_chosen_among() -> None:
    assert all(pair == ["a"] for pair in examples([{"a": -1e308, "b": 1e308}], examples_per_prompt=1))


def test_plain_islands_start_from_the_template() -> None:
    events = events_of(**PLAIN)
    assert founding(events).groups == {str(island): (TEMPLATE,) for island in range(4)}
    assert final(events).tally.feasible > 60


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"method": "funsearch"}, False),
        ({"method": "funsearch+behavesim"}, True),
        ({"method": "funsearch+behavesim", "placement": "random", "clustered_start": False}, False),
        ({"method": "funsearch+behavesim", "placement": "random"}, True),
        ({"method": "funsearch+behavesim", "placement": "random", "n_init": 1}, True),
        ({"method": "funsearch+behavesim", "placement": "random", "n_init": 0}, False),
        ({"method": "eoh"}, False),
        ({"method": "eoh+behavesim"}, True),
        ({"method": "niche"}, True),
        ({"method": "best-of-n"}, False),
    ],
)
def test_only_methods_that_compare_pay_for_comparing(settings: dict[str, Any], needed: bool) -> None:
    chosen = method_of(fitting(settings), Toy())
    assert chosen.uses_behaviour == needed
    assert Behaviours.of_run(fitting(settings), Toy(), chosen.uses_behaviour).are_kept == needed


@pytest.mark.parametrize(("feedback", "needed"), [("none", False), ("scores", False), ("behaviour", True)])
def test_behaviours_are_known_where_a_model_is_told_of_them(feedback: str, needed: bool) -> None:
    settings = fitting({"method": "best-of-n", "prompt_feedback": feedback})
    assert Behaviours.of_run(settings, Toy(), is_read=False).are_kept == needed
