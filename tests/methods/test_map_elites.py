"""MAP-Elites over behaviour: where the cells lie, and who holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from behavesim.methods.map_elites import CENTRES, MapElites, MapElitesSettings
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, Asked, NotAdded, Regrouped
from behavesim.state.members import Member
from behavesim.state.state import RunState
from tests.engine.toys import Toy
from tests.methods.runs import events_of, final, steps
from tests.methods.states import BRIEF, UNREAD, Alike, Newcomer, candidate, member, state_of

ALIKE = Alike(
    [
        [1.0, 0.9, 0.2, 0.5],
        [0.9, 1.0, 0.3, 0.4],
        [0.2, 0.3, 1.0, 0.6],
        [0.5, 0.4, 0.6, 1.0],
    ]
)
FOUR = tuple(member(number, score) for number, score in enumerate([2.0, 1.0, 3.0, 1.0]))
METHOD = MapElites(MapElitesSettings(n_init=4, cells=2), BRIEF)
MAP = state_of(FOUR, {"0": [1], "1": [3]}, {CENTRES: [1, 2]}, registered=4)


def test_no_more_than_a_quarter_of_the_budget_is_for_initial_programs() -> None:
    assert [MapElitesSettings.suited(Toy(), budget)["n_init"] for budget in (40, 399, 2000)] == [10, 99, 100]


def initial(programs: Sequence[Member], centres: Sequence[int] | None = None) -> RunState:
    """A run whose initial programs are registered, and which may have centres."""
    selections = None if centres is None else {CENTRES: centres}
    state = state_of(programs, selections=selections, registered=len(programs))
    state.ungrouped = [each.candidate for each in programs]
    return state


class TestRegroup:
    @pytest.mark.parametrize(
        ("cells", "centres"), [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (4, (1, 2, 3, 0)), (9, (1, 2, 3, 0))]
    )
    def test_the_best_is_a_centre_then_each_the_farthest_from_those_before(
        self, cells: int, centres: tuple[int, ...]
    ) -> None:
        method = MapElites(MapElitesSettings(n_init=4, cells=cells), BRIEF)
        assert method.regroup(initial(FOUR), ALIKE) == Regrouped({CENTRES: centres}, selection=True)

    def test_no_two_centres_behave_alike(self) -> None:
        alike = Alike([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
        method = MapElites(MapElitesSettings(n_init=3, cells=3), BRIEF)
        assert method.regroup(initial(FOUR[:3]), alike) == Regrouped({CENTRES: (1, 2)}, selection=True)

    def test_the_best_of_the_programs_most_alike_to_a_centre_is_the_elite_of_its_cell(self) -> None:
        # 0 is most alike to 1, and 3 to 2, which it beats
        assert METHOD.regroup(initial(FOUR, (1, 2)), ALIKE) == Regrouped({"0": (1,), "1": (3,)})

    def test_of_programs_as_good_the_older_is_the_elite(self) -> None:
        as_good = [member(number, 1.0) for number in range(4)]
        assert METHOD.regroup(initial(as_good, (2, 1)), ALIKE) == Regrouped({"0": (2,), "1": (0,)})

    def test_nothing_is_arranged_before_the_initial_programs_are_registered_nor_once_there_is_a_map(self) -> None:
        state = initial(FOUR)
        state.registered = 3
        assert METHOD.regroup(state, UNREAD) is None
        assert METHOD.regroup(MAP, UNREAD) is None

    def test_the_template_is_the_only_centre_where_no_initial_program_is_feasible(self) -> None:
        class Itself(Behaviours):
            def matrix(self, members: Sequence[int]) -> np.ndarray:
                assert list(members) == [TEMPLATE]
                return np.ones((1, 1))

        assert METHOD.regroup(state_of(registered=4), Itself()) == Regrouped({CENTRES: (TEMPLATE,)}, selection=True)


class TestAsk:
    def test_initial_programs_are_asked_for_with_the_template(self) -> None:
        asked = METHOD.ask(state_of(), UNREAD, 3)
        assert asked is not None
        assert (asked.candidate, asked.parents, asked.prompt.operator) == (3, (TEMPLATE,), "template")
        assert METHOD.ask(state_of(), UNREAD, 4) is None  # the map is awaited
        assert METHOD.ask(state_of(FOUR, selections={CENTRES: [1, 2]}, registered=4), UNREAD, 4) is None

    def test_prompts_show_elites_of_different_cells_from_worse_to_better(self) -> None:
        state = state_of(FOUR, {"0": [1], "1": [2], "2": [0]}, {CENTRES: [1, 2, 0]}, registered=4)
        seen = {asked.parents for number in range(4, 50) if (asked := METHOD.ask(state, UNREAD, number))}
        assert seen == {(2, 1), (2, 0), (0, 1)}
        asked = MapElites(MapElitesSettings(n_init=4, examples_per_prompt=9), BRIEF).ask(state, UNREAD, 4)
        assert asked is not None
        assert (asked.parents, asked.prompt.operator) == ((2, 0, 1), "improve")


class TestRegister:
    @pytest.mark.parametrize(
        ("score", "alike", "decided"),
        [
            (0.5, {1: 0.2, 2: 0.7}, Added(5, "1", (3,))),
            (0.5, {1: 0.7, 2: 0.2}, Added(5, "0", (1,))),
            (0.5, {1: 0.4, 2: 0.4}, Added(5, "0", (1,))),  # as alike to both: the first
            (1.0, {1: 0.2, 2: 0.7}, NotAdded(5)),  # no better than the elite
            (2.0, {1: 0.2, 2: 0.7}, NotAdded(5)),
        ],
    )
    def test_a_program_that_beats_the_elite_of_its_cell_takes_its_place(
        self, score: float, alike: dict[int, float], decided: Added | NotAdded
    ) -> None:
        assert METHOD.register(MAP, Newcomer(alike), candidate(5, score)) == decided

    def test_initial_programs_wait_for_the_map_and_infeasible_ones_go_nowhere(self) -> None:
        assert METHOD.register(state_of(), UNREAD, candidate(0, 1.0)) == Added(0, None)
        assert METHOD.register(state_of(), UNREAD, candidate(0)) == NotAdded(0)


def test_a_person_is_told_how_many_initial_programs_or_cells_there_are() -> None:
    begun = state_of(FOUR, registered=2)
    begun.ungrouped = [0, 1]
    assert METHOD.facts(begun) == {"initial programs": "2 of 4, no map yet"}
    assert METHOD.facts(MAP) == {"cells": "2"}


def test_in_a_whole_run_every_cell_has_one_elite_which_only_gets_better() -> None:
    events = events_of(method="map-elites", n_init=40, cells=8)
    elites: dict[str, float] = {}
    for state, event in steps(events):
        for name, group in state.islands.items():
            (elite,) = group.members
            assert state.members[elite].utility >= elites.get(name, -99.0)
            elites[name] = state.members[elite].utility
        if isinstance(event, Asked) and event.candidate < 40:
            assert event.prompt.operator == "template"
    state: RunState = final(events)
    assert len(elites) == len(state.groups[CENTRES].members) == 8
    assert state.best is not None
    assert state.best.utility == max(elites.values())
