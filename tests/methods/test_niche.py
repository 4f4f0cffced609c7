"""Niche: elites are the best of each niche, and prompts are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from behavesim.methods.niche import ARCHIVE, ELITES, Niche, NicheSettings
from behavesim.similarity.clustering import Preference
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Asked, Evaluated, Regrouped
from tests.engine.toys import Toy
from tests.methods.runs import events_of, final, steps
from tests.methods.states import BRIEF, UNREAD, member, state_of


def test_elites_are_renewed_after_the_first_programs_and_every_few_from_then_on() -> None:
    renewed = [
        s.registered
        for s, e in steps(events_of(method="niche", n_init=40, samples_per_prompt=2))
        if isinstance(e, Regrouped)
    ]
    assert renewed == list(range(40, 120, 10))  # and not at the end, where nothing more is asked


def test_prompts_show_two_different_elites_from_worse_to_better_and_are_asked_twice() -> None:
    asked: list[Asked] = []
    for state, event in steps(events_of(method="niche", n_init=40, samples_per_prompt=2)):
        if not isinstance(event, Asked):
            continue
        if event.candidate < 40:
            assert event.prompt.operator == "template"
            continue
        asked.append(event)
        if event.candidate % 2 == 0:
            worse, better = event.parents
            assert worse != better and {worse, better} <= set(state.groups[ELITES].members)
            assert state.members[worse].utility <= state.members[better].utility
    assert all(a.parents == b.parents for a, b in zip(asked[::2], asked[1::2], strict=True))


class Preferred(Behaviours):
    """Behaviours that take the preferred programs for the elites."""

    def elites(self, preferences: Sequence[Preference], radius: float, count: int) -> list[int]:
        assert (radius, count) == (0.2, 7)
        return [preference[-1] for preference in sorted(preferences)]


def test_elites_are_chosen_of_all_programs_once_the_initial_ones_are_registered_and_every_few_from_then_on() -> None:
    method = Niche(NicheSettings(n_init=4, renew_every=3, niche_radius=0.2, elites=7), BRIEF)
    # of elites as good the shorter, then the older is preferred
    archive = [member(0, 2.0, "xxx"), member(1, 2.0, "xx"), member(2, 2.0, "xx"), member(3, 1.0, "xxxx")]
    chosen = Regrouped({ELITES: (3, 1, 2, 0)}, selection=True)
    begun = [state_of(archive, {ARCHIVE: range(4)}, registered=registered) for registered in (3, 4, 5)]
    assert [method.regroup(state, Preferred()) for state in begun] == [None, chosen, chosen]
    renewed = state_of(archive, {ARCHIVE: range(4)}, {ELITES: [0]}, registered=4)
    for renewed.registered in (4, 6):
        assert method.regroup(renewed, UNREAD) is None
    renewed.registered = 7
    assert method.regroup(renewed, Preferred()) == chosen


def test_initial_programs_are_asked_for_with_the_template_and_nothing_while_elites_are_awaited() -> None:
    method = Niche(NicheSettings(n_init=4), BRIEF)
    none_feasible = state_of(selections={ELITES: []}, registered=4)
    for asked in (method.ask(state_of(), UNREAD, 3), method.ask(none_feasible, UNREAD, 4)):
        assert asked is not None
        assert (asked.parents, asked.group, asked.prompt.operator) == ((TEMPLATE,), None, "template")
    assert method.ask(state_of([member(0)], {ARCHIVE: [0]}, registered=4), UNREAD, 4) is None


def test_a_prompt_shows_no_more_elites_than_there_are() -> None:
    state = state_of([member(0)], {ARCHIVE: [0]}, {ELITES: [0]}, registered=4)
    asked = Niche(NicheSettings(n_init=4), BRIEF).ask(state, UNREAD, 4)
    assert asked is not None
    assert (asked.parents, asked.group, asked.prompt.operator) == ((0,), ARCHIVE, "improve")


def test_a_person_is_told_how_many_elites_there_are_and_since_when() -> None:
    method = Niche(NicheSettings(n_init=4), BRIEF)
    assert method.facts(state_of()) == {"elites": "none before 4 initial programs"}
    state = state_of([member(0)], {ARCHIVE: [0]}, {ELITES: [0]}, registered=4)
    state.registered = 9
    assert method.facts(state) == {"elites": "1, chosen 5 candidates ago"}


def test_no_more_than_a_quarter_of_the_budget_is_for_initial_programs() -> None:
    assert [NicheSettings.suited(Toy(), budget)["n_init"] for budget in (40, 399, 2000)] == [10, 99, 100]
    assert NicheSettings.suited(Toy(), 40)["niche_radius"] == Toy.niche_radius


def test_better_elites_are_parents_more_often() -> None:
    elites = [member(number, float(number)) for number in range(5)]
    state = state_of(elites, {ARCHIVE: range(5)}, {ELITES: range(5)}, registered=1)
    method = Niche(NicheSettings(n_init=0, examples_per_prompt=1), BRIEF)
    drawn = Counter(asked.parents for number in range(0, 2000, 2) if (asked := method.ask(state, UNREAD, number)))
    expected = np.exp(-4.0 * np.arange(5) / 5)  # by rank, the best one e^4 times as often as one behind the last
    assert [drawn[number,] / 1000 for number in range(5)] == pytest.approx(expected / expected.sum(), abs=0.04)


def test_every_feasible_program_stays_in_the_archive() -> None:
    events = events_of(method="niche", n_init=40, samples_per_prompt=2)
    feasible = sorted(e.candidate for e in events if isinstance(e, Evaluated) and e.candidate >= 0)
    assert final(events).groups[ARCHIVE].members == feasible


def test_best_of_n_shows_the_template_alone_and_keeps_what_is_feasible() -> None:
    events = events_of(method="best-of-n", prompt_angles=False)
    asked = [event for event in events if isinstance(event, Asked)]
    assert len(asked) == 120
    assert {(event.parents, event.prompt) for event in asked} == {((-1,), asked[0].prompt)}
    assert asked[0].prompt.operator == "template"
    assert {e.group for e in events if isinstance(e, Added)} == {"archive"}
