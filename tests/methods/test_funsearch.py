"""FunSearch's archive of islands, and each of the settings that take a part of it away."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from behavesim import build
from behavesim.events import TEMPLATE, Added, Asked, Compared, Evaluated, NotAdded, Regrouped
from behavesim.methods.funsearch import FunSearch, FunSearchSettings
from behavesim.methods.installed import method
from behavesim.methods.method import Brief
from behavesim.prompts.funsearch import FunSearchPrompts
from behavesim.state import Group, Member, RunState
from tests.methods.told import Told, events_of, final, steps
from tests.search.toys import Toy, fitting

OURS: dict[str, Any] = {"method": "funsearch+behavesim", "islands": 4, "n_init": 40}
PLAIN: dict[str, Any] = {"method": "funsearch", "islands": 4}


def homes(state: RunState, member: int) -> set[str]:
    return {name for name, island in state.groups.items() if member in island.members}


def founding(events: Told) -> Regrouped:
    return next(e for e in events if isinstance(e, Regrouped))


def restarts(events: Told) -> list[Regrouped]:
    return [event for event in events if isinstance(event, Regrouped)][1:]


def improving(events: Told) -> list[tuple[RunState, Asked]]:
    return [(s, e) for s, e in steps(events) if isinstance(e, Asked) and e.prompt.operator == "improve"]


async def test_every_prompt_is_asked_as_often_as_set() -> None:
    asked = [e for e in await events_of(**PLAIN, samples_per_prompt=3, budget=90) if isinstance(e, Asked)]
    assert all(len({e.parents for e in asked[start : start + 3]}) == 1 for start in range(0, 90, 3))
    assert len({(e.parents, e.group) for e in asked}) > 10


async def test_examples_are_different_programs_from_worse_to_better() -> None:
    for events in (await events_of(**PLAIN, restart_every=0), await events_of(**OURS, restart_every=0)):
        for state, asked in improving(events):
            if asked.candidate % 2 == 0:
                utilities = [state.members[parent].utility for parent in asked.parents]
                assert utilities == sorted(utilities)
                assert len({state.members[parent].source for parent in asked.parents}) == len(asked.parents)


@pytest.mark.parametrize(("p_s1", "apart"), [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)])
async def test_p_s1_is_how_often_the_examples_come_from_two_islands(p_s1: float, apart: float) -> None:
    prompts = [
        pair for pair in improving(await events_of(**OURS, p_s1=p_s1, restart_every=0)) if len(pair[1].parents) > 1
    ]
    crossing = Counter()
    for state, asked in prompts[::2]:
        shared = set.intersection(*(homes(state, parent) for parent in asked.parents))
        crossing[not shared] += 1
    assert crossing[True] / crossing.total() == pytest.approx(apart, abs=0.2)
    assert crossing.total() > 50


async def test_a_childs_island_can_be_that_of_its_better_parent() -> None:
    events = await events_of(**OURS, placement="parent")
    asked = {e.candidate: e for e in events if isinstance(e, Asked)}
    placed = [e for e in events if isinstance(e, Added) and e.group is not None]
    assert placed
    assert all(e.group == asked[e.candidate].group for e in placed if asked[e.candidate].group is not None)
    assert not [e for e in events if isinstance(e, Compared)]


async def test_a_childs_island_can_be_drawn_blindly() -> None:
    events = await events_of(**OURS, placement="random", budget=600, restart_every=0)
    counts = Counter(e.group for e in events if isinstance(e, Added) and e.group is not None)
    assert set(counts) == {"0", "1", "2", "3"}
    assert max(counts.values()) < 1.5 * min(counts.values())
    assert not [e for e in events if isinstance(e, Compared)]


async def test_a_childs_island_is_that_of_greatest_mean_similarity() -> None:
    compared: dict[int, Compared] = {}
    for event in await events_of(**OURS):
        if isinstance(event, Compared):
            compared[event.candidate] = event
        if isinstance(event, Added) and event.group is not None:
            similarity = compared[event.candidate].to_groups
            assert similarity[event.group] == max(similarity.values())


async def test_the_first_programs_can_be_dealt_instead_of_clustered() -> None:
    dealt, clustered = [founding(await events_of(**OURS, clustered_start=start)) for start in (False, True)]
    assert {m for island in dealt.groups.values() for m in island} == {
        m for island in clustered.groups.values() for m in island
    }
    sizes = [len(island) for island in dealt.groups.values()]
    assert max(sizes) - min(sizes) <= 1
    assert dealt != clustered


async def test_first_programs_worse_than_the_template_can_be_left_out() -> None:
    events = await events_of(**OURS, keep_worse_than_template=False)
    template = next(e for e in events if isinstance(e, Evaluated) and e.candidate == TEMPLATE)
    for state, event in steps(events):
        if isinstance(event, Added | NotAdded) and not state.groups:
            outcome = state.open[event.candidate].outcome
            good = isinstance(outcome, Evaluated) and outcome.score <= template.score
            assert isinstance(event, Added) == good
    assert Toy.objective.direction == "minimise"


@pytest.mark.parametrize(("every", "times"), [(0, 0), (50, 3), (80, 2)])
async def test_islands_restart_as_often_as_set(every: int, times: int) -> None:
    # of 200 candidates: none at the end, where nothing more is asked
    events = await events_of(**PLAIN, restart_every=every)
    assert len(restarts(events)) == times


async def test_an_overdue_restart_is_made_up_for_once_and_none_follows_the_founding_at_once() -> None:
    told = await restarted_at(**OURS, restart_every=10)
    assert told == list(range(OURS["n_init"] + 10, 200, 10))


async def test_a_restart_empties_the_worse_half_and_refills_it_from_the_better() -> None:
    for best, event in await bests_at_restarts(**PLAIN, restart_every=50):
        survivors = set(best) - set(event.groups)
        assert len(event.groups) == len(survivors) == 2
        assert max(best[i].utility for i in event.groups) <= min(best[i].utility for i in survivors)
        assert {m for members in event.groups.values() for m in members} <= {best[i].candidate for i in survivors}


async def bests_at_restarts(**settings: Any) -> list[tuple[dict[str, Member], Regrouped]]:
    """The best program of each island just before each restart, and the restart."""
    found = []
    for state, event in steps(await events_of(**settings)):
        if isinstance(event, Regrouped) and state.groups:
            found.append(({name: state.best_member(group.members) for name, group in state.groups.items()}, event))
    assert found
    return found


async def restarted_at(**settings: Any) -> list[int]:
    """How many candidates were registered at each restart."""
    events = await events_of(**settings)
    return [state.registered for state, event in steps(events) if isinstance(event, Regrouped) and state.groups]


async def test_islands_can_be_drawn_by_the_rank_of_their_best() -> None:
    drawn: Counter[int] = Counter()
    events = await events_of(**OURS, p_s1=0.0, island_choice="rank", budget=600, restart_every=0)
    for state, asked in improving(events)[::2]:
        best = [-state.best_member(island.members).utility for island in state.groups.values()]
        assert asked.group is not None
        drawn[sorted(range(4), key=lambda i: (best[i], i)).index(int(asked.group))] += 1
    assert drawn[0] / drawn.total() == pytest.approx(12 / 25, abs=0.08)  # 1 / (1 + 1/2 + 1/3 + 1/4)
    assert drawn[0] > drawn[1] > drawn[3]


def examples(islands: list[dict[str, float]], draws: int = 60, **settings: Any) -> list[list[str]]:
    """The programs of many prompts made from islands of given programs; a program's normal form is its first letter."""
    state, names = RunState(Toy.objective), sorted({name for island in islands for name in island})
    for number, island in enumerate(islands):
        state.groups[str(number)] = Group([names.index(name) for name in island])
        for name, score in island.items():
            member = Member(names.index(name), name, score, Toy.objective.utility(score), program_hash=name[0])
            state.members[member.candidate] = member
    method = FunSearch(FunSearchSettings(islands=len(islands), **settings), Brief(0, "", "", "f"))
    asked = [method.ask(state, candidate) for candidate in range(0, 2 * draws, 2)]
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


def test_a_prompt_can_show_any_number_of_programs() -> None:
    text = FunSearchPrompts("", "", "f").improve(["pass"] * 12)
    assert "12 programs" in text
    assert "The last program is better" in text


def test_scores_as_far_apart_as_floats_go_can_be_chosen_among() -> None:
    assert all(pair == ["a"] for pair in examples([{"a": -1e308, "b": 1e308}], examples_per_prompt=1))


async def test_plain_islands_start_from_the_template() -> None:
    events = await events_of(**PLAIN)
    assert founding(events).groups == {str(island): (TEMPLATE,) for island in range(4)}
    assert final(events).feasible > 100


@pytest.mark.parametrize(
    ("settings", "measure"),
    [
        ({"measure": "erp"}, {"measure": "erp"}),
        ({"truncate": 0.5}, {"truncate": 0.5}),
        ({"skip": 3}, {"skip": 3}),
        ({"method": "eoh+behavesim", "measure": "mean"}, {"measure": "mean"}),
        ({"method": "niche", "skip": 1}, {"skip": 1}),
    ],
)
def test_the_measure_of_a_run_is_that_of_its_settings(settings: dict[str, Any], measure: dict[str, Any]) -> None:
    behaviours = build.behaviours(fitting(settings), Toy())
    for used in (behaviours._raw, behaviours._clipped):
        assert {name: getattr(used, name) for name in measure} == measure
        assert used.normaliser == Toy.normaliser


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"method": "funsearch"}, False),
        ({"method": "funsearch+behavesim"}, True),
        ({"method": "funsearch+behavesim", "placement": "random", "clustered_start": False}, False),
        ({"method": "funsearch+behavesim", "placement": "random"}, True),
        ({"method": "eoh"}, False),
        ({"method": "eoh+behavesim"}, True),
        ({"method": "niche"}, True),
        ({"method": "best-of-n"}, False),
    ],
)
def test_only_methods_that_compare_pay_for_comparing(settings: dict[str, Any], needed: bool) -> None:
    assert method(fitting(settings), Toy()).uses_behaviour == needed
