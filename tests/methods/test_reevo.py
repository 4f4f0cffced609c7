"""ReEvo: generations, whom they show, and what is reflected on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from behavesim.methods.reevo import ELITE, POPULATION, ReEvo, ReEvoSettings
from behavesim.state.events import TEMPLATE, Added, Asked, NotAdded, NoteAsked, NoteReceived, Prompt, Regrouped, Reply
from behavesim.state.members import Note
from behavesim.state.state import RunState
from tests.methods.runs import events_of, steps
from tests.methods.states import BRIEF, candidate, member, state_of
from tests.search.toys import Toy

# 4 initial programs, then generations of 4 children (4 to 7, 10 to 13, …) and 2 mutants (8, 9, 14, 15, …)
SETTINGS = ReEvoSettings(initial_population=4, population=4, mutation_rate=0.5)
METHOD = ReEvo(SETTINGS, BRIEF)
SILENT = ReEvo(SETTINGS.model_copy(update={"reflection": False}), BRIEF)
PROGRAMS = [member(0, 5.0), member(1, 3.0), member(2, 4.0), member(3, 3.0)]


def evolved(registered: int = 4, notes: int = 0, population: Mapping[int, float] | None = None) -> RunState:
    """A run whose population has some scores, with so many notes answered."""
    members = [member(c, s) for c, s in population.items()] if population else PROGRAMS
    best = max(members, key=lambda each: (each.utility, -each.candidate)).candidate
    state = state_of(members, {POPULATION: [m.candidate for m in members], ELITE: [best]}, registered=registered)
    for number in range(notes):
        asked = NoteAsked(number, (), Prompt("", "short-term-reflection"))
        state.notes[number] = Note(asked, Reply(f"Hint {number}.", "toy"))
    return state


def crossed(state: RunState, seeds: int = 30) -> set[tuple[int, ...]]:
    """The pairs that the children of the first generation come from, whatever the seed."""
    silent = [ReEvo(SILENT.settings, replace(BRIEF, seed=seed)) for seed in range(seeds)]
    asked = (method.ask(state, child) for method in silent for child in range(4, 8))
    return {tuple(question.parents) for question in asked if question is not None}


def test_no_more_than_a_quarter_of_the_budget_is_for_initial_programs() -> None:
    assert [ReEvoSettings.suited(Toy(), budget)["initial_population"] for budget in (4, 40, 120, 2000)] == [
        2,
        10,
        30,
        30,
    ]


def test_mutants_are_a_share_of_the_population() -> None:
    assert [ReEvoSettings(mutation_rate=rate).mutants for rate in (0.0, 0.25, 0.5, 1.0)] == [0, 2, 5, 10]


class TestGenerations:
    @pytest.mark.parametrize(
        ("arranged", "registered", "is_due"),
        [
            *[(None, 3, False), (None, 4, True), (4, 5, False), (4, 7, False), (4, 8, True), (8, 9, False)],
            *[(8, 10, False), (8, 13, False), (8, 14, True), (14, 15, False), (14, 16, False), (14, 20, True)],
        ],
    )
    def test_children_become_the_population_once_all_of_them_are_registered(
        self, arranged: int | None, registered: int, is_due: bool
    ) -> None:
        state = state_of() if arranged is None else evolved(registered=arranged)
        state.registered = registered
        state.members |= {40: member(40, 1.0), 41: member(41, 2.0)}
        state.ungrouped, state.best = [40, 41], state.members[40]
        decided = METHOD.regroup(state)
        assert decided == (Regrouped({POPULATION: (40, 41), ELITE: (40,)}) if is_due else None)

    def test_the_population_stays_where_no_child_is_feasible(self) -> None:
        state = evolved()
        state.registered, state.best = 8, state.members[1]
        assert METHOD.regroup(state) == Regrouped({POPULATION: (0, 1, 2, 3), ELITE: (1,)})

    def test_the_template_is_all_there_is_where_no_initial_program_is_feasible(self) -> None:
        assert METHOD.regroup(state_of(registered=4)) == Regrouped({POPULATION: (TEMPLATE,), ELITE: (TEMPLATE,)})

    def test_the_template_is_no_elite_where_there_is_another_program(self) -> None:
        worse = state_of([member(0, 50.0)], registered=4)
        worse.ungrouped, worse.best = [0], worse.members[0]
        assert METHOD.regroup(worse) == Regrouped({POPULATION: (0,), ELITE: (0,)})

    def test_children_wait_for_the_end_of_their_generation_and_mutants_do_not(self) -> None:
        homes = {n: METHOD.register(evolved(), candidate(n, 1.0)) for n in range(16)}
        mutants = {8, 9, 14, 15}
        assert homes == {n: Added(n, POPULATION if n in mutants else None) for n in range(16)}
        assert METHOD.register(evolved(), candidate(8)) == NotAdded(8)


class TestQuestions:
    def test_initial_programs_are_asked_for_with_the_template(self) -> None:
        asked = METHOD.ask(state_of(), 3)
        assert isinstance(asked, Asked)
        assert (asked.candidate, asked.parents, asked.prompt.operator) == (3, (TEMPLATE,), "template")
        assert Toy.template.strip() in asked.prompt.text

    @pytest.mark.parametrize(
        ("number", "needed"), [(4, 4), (7, 4), (8, 8), (9, 8), (10, 10), (13, 10), (14, 14), (15, 14), (16, 16)]
    )
    def test_a_phase_waits_for_the_programs_it_builds_on(self, number: int, needed: int) -> None:
        assert SILENT.ask(evolved(registered=needed - 1), number) is None
        asked = SILENT.ask(evolved(registered=needed), number)
        assert isinstance(asked, Asked)
        assert asked.prompt.operator == ("crossover" if (number - 4) % 6 < 4 else "mutation")

    def test_a_crossover_shows_two_programs_of_different_scores_from_worse_to_better(self) -> None:
        assert crossed(evolved()) == {(0, 1), (0, 2), (0, 3), (2, 1), (2, 3)}  # 1 and 3 are as good

    def test_programs_as_good_as_one_another_are_crossed_where_there_are_no_others(self) -> None:
        assert crossed(evolved(population={1: 1.0, 3: 1.0})) == {(3, 1)}  # the older counts as the better
        assert crossed(evolved(population={0: 1.0})) == {(0, 0)}

    def test_the_elite_is_a_parent_though_it_is_not_of_the_population(self) -> None:
        state = evolved(population={0: 5.0, 1: 3.0})
        state.groups[POPULATION].members.remove(1)
        assert crossed(state) == {(0, 1)}

    def test_a_mutation_shows_the_elite_alone(self) -> None:
        asked = SILENT.ask(evolved(registered=8), 8)
        assert isinstance(asked, Asked)
        assert (asked.parents, asked.prompt.operator) == ((1,), "mutation")


class TestReflections:
    @pytest.mark.parametrize("noted", range(4))
    def test_before_its_first_child_a_generation_reflects_on_each_pair(self, noted: int) -> None:
        note, child = METHOD.ask(evolved(notes=noted), 4), SILENT.ask(evolved(), 4 + noted)
        assert isinstance(note, NoteAsked) and isinstance(child, Asked)
        assert (note.number, note.prompt.operator) == (noted, "short-term-reflection")
        assert note.about == child.parents

    def test_a_child_is_asked_for_with_the_hint_of_its_own_pair(self) -> None:
        for number in range(4, 8):
            asked = METHOD.ask(evolved(notes=4), number)
            assert isinstance(asked, Asked)
            assert [f"Hint {n}." in asked.prompt.text for n in range(4)] == [n == number - 4 for n in range(4)]

    def test_before_its_first_mutant_a_generation_sums_its_hints_up(self) -> None:
        note = METHOD.ask(evolved(registered=8, notes=4), 8)
        assert isinstance(note, NoteAsked)
        assert (note.number, note.about, note.prompt.operator) == (4, (1,), "long-term-reflection")
        assert all(f"Hint {n}." in note.prompt.text for n in range(4))
        assert "Nothing was learnt before." in note.prompt.text
        asked = METHOD.ask(evolved(registered=8, notes=5), 8)
        assert isinstance(asked, Asked)
        assert "Hint 4." in asked.prompt.text

    def test_the_next_generation_has_notes_of_its_own_and_builds_on_what_was_learnt(self) -> None:
        short = METHOD.ask(evolved(registered=10, notes=5), 10)
        assert isinstance(short, NoteAsked)
        assert short.number == 5
        child = METHOD.ask(evolved(registered=10, notes=9), 11)
        assert isinstance(child, Asked)
        assert "Hint 6." in child.prompt.text
        long = METHOD.ask(evolved(registered=14, notes=9), 14)
        assert isinstance(long, NoteAsked)
        assert long.number == 9
        assert [n for n in range(9) if f"Hint {n}." in long.prompt.text] == [4, 5, 6, 7, 8]
        mutant = METHOD.ask(evolved(registered=14, notes=10), 15)
        assert isinstance(mutant, Asked)
        assert "Hint 9." in mutant.prompt.text

    def test_where_the_proposer_writes_none_or_none_are_wanted_there_are_none(self) -> None:
        offline = ReEvo(SETTINGS, replace(BRIEF, takes_notes=False))
        assert isinstance(offline.ask(evolved(), 4), Asked)
        assert isinstance(SILENT.ask(evolved(), 4), Asked)


def test_a_person_is_told_the_generation_and_how_many_reflections_were_made() -> None:
    state = evolved(notes=3)
    state.asked = 10
    assert METHOD.facts(state) == {"generation": "1", "reflections": "3"}
    state.asked = 9
    offline = ReEvo(SETTINGS, replace(BRIEF, takes_notes=False))
    assert offline.facts(state) == {"generation": "0", "reflections": "3 (the proposer writes none)"}
    state.asked = 2
    assert METHOD.facts(state)["generation"] == "0"


def test_in_a_whole_run_every_generation_is_reflected_on_and_the_elite_only_gets_better() -> None:
    best, notes = -99.0, 0
    for state, event in steps(events_of(method="reevo", initial_population=10, population=6, budget=82)):
        notes += isinstance(event, NoteReceived)
        if isinstance(event, Regrouped):
            (elite,) = event.groups[ELITE]
            assert state.members[elite].utility >= best
            best = state.members[elite].utility
            assert state.best is not None
            assert best == state.best.utility
    assert notes == 8 * 7  # of eight generations: six on pairs, and one that sums them up
