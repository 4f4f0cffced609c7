"""ReEvo: generations, whom they show, and what is reflected on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from behavesim.methods.reevo import ELITE, POPULATION, ReEvo, ReEvoSettings
from behavesim.state.events import TEMPLATE, Added, Asked, NotAdded, NoteAsked, Prompt, Regrouped, Reply
from behavesim.state.members import Note
from behavesim.state.state import RunState
from tests.engine.toys import Toy
from tests.methods.runs import events_of, steps
from tests.methods.states import BRIEF, UNREAD, candidate, member, state_of

# 4 initial programs, then generations of 4 children (4 to 7, 10 to 13, …) and 2 mutants (8, 9, 14, 15, …)
SETTINGS = ReEvoSettings(initial_population=4, population=4, mutation_rate=0.5)
METHOD = ReEvo(SETTINGS, BRIEF)
SILENT = ReEvo(SETTINGS.model_copy(update={"reflection": False}), BRIEF)
PROGRAMS = [member(0, 5.0), member(1, 3.0), member(2, 4.0), member(3, 3.0)]
FIRST_PAIRS = [(2, 1), (2, 3), (0, 3), (0, 1)]
"""Pairs of programs of different scores, the worse first."""


def evolved(registered: int = 4, notes: int = 0, population: Mapping[int, float] | None = None) -> RunState:
    """A run whose population has some scores, with so many notes answered."""
    members = [member(c, s) for c, s in population.items()] if population else PROGRAMS
    best = max(members, key=lambda each: (each.utility, -each.candidate)).candidate
    state = state_of(members, {POPULATION: [m.candidate for m in members], ELITE: [best]}, registered=registered)
    for _ in range(notes):
        take_note(state)
    return state


def take_note(state: RunState, *about: int, operator: str = "short-term-reflection") -> None:
    """Add an answered note, by default on a pair of the first generation."""
    number = len(state.notes)
    pair = about or FIRST_PAIRS[number]
    state.notes[number] = Note(NoteAsked(number, pair, Prompt("", operator)), Reply(f"Hint {number}.", "toy"))


def pairs_of(state: RunState, children: range) -> list[tuple[int, ...]]:
    """The different pairs that children come from, in the order of the first child of each."""
    asked = (SILENT.ask(state, UNREAD, child) for child in children)
    return list(dict.fromkeys(tuple(question.parents) for question in asked if question is not None))


def crossed(state: RunState, seeds: int = 30) -> set[tuple[int, ...]]:
    """The pairs that the children of the first generation come from, whatever the seed."""
    silent = [ReEvo(SILENT.settings, replace(BRIEF, seed=seed)) for seed in range(seeds)]
    asked = (method.ask(state, UNREAD, child) for method in silent for child in range(4, 8))
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
        decided = METHOD.regroup(state, UNREAD)
        assert decided == (Regrouped({POPULATION: (40, 41), ELITE: (40,)}) if is_due else None)

    def test_the_population_stays_where_no_child_is_feasible(self) -> None:
        state = evolved()
        state.registered, state.best = 8, state.members[1]
        assert METHOD.regroup(state, UNREAD) == Regrouped({POPULATION: (0, 1, 2, 3), ELITE: (1,)})

    def test_the_template_is_all_there_is_where_no_initial_program_is_feasible(self) -> None:
        assert METHOD.regroup(state_of(registered=4), UNREAD) == Regrouped(
            {POPULATION: (TEMPLATE,), ELITE: (TEMPLATE,)}
        )

    def test_the_template_is_the_elite_until_a_program_is_better(self) -> None:
        for score, elite in ((50.0, TEMPLATE), (9.0, TEMPLATE), (8.0, 0)):
            state = state_of([member(0, score)], registered=4)
            state.ungrouped, state.best = [0], state.members[0]
            assert METHOD.regroup(state, UNREAD) == Regrouped({POPULATION: (0,), ELITE: (elite,)})

    def test_children_wait_for_the_end_of_their_generation_and_mutants_do_not(self) -> None:
        homes = {n: METHOD.register(evolved(), UNREAD, candidate(n, 1.0)) for n in range(16)}
        mutants = {8, 9, 14, 15}
        assert homes == {n: Added(n, POPULATION if n in mutants else None) for n in range(16)}
        assert METHOD.register(evolved(), UNREAD, candidate(8)) == NotAdded(8)


class TestQuestions:
    def test_initial_programs_are_asked_for_with_the_template(self) -> None:
        asked = METHOD.ask(state_of(), UNREAD, 3)
        assert isinstance(asked, Asked)
        assert (asked.candidate, asked.parents, asked.prompt.operator) == (3, (TEMPLATE,), "template")
        assert Toy.template.strip() in asked.prompt.text

    @pytest.mark.parametrize(
        ("number", "needed"), [(4, 4), (7, 4), (8, 8), (9, 8), (10, 10), (13, 10), (14, 14), (15, 14), (16, 16)]
    )
    def test_a_phase_waits_for_the_programs_it_builds_on(self, number: int, needed: int) -> None:
        assert SILENT.ask(evolved(registered=needed - 1), UNREAD, number) is None
        asked = SILENT.ask(evolved(registered=needed), UNREAD, number)
        assert isinstance(asked, Asked)
        assert asked.prompt.operator == ("crossover" if (number - 4) % 6 < 4 else "mutation")

    def test_a_crossover_shows_two_programs_of_different_scores_from_worse_to_better(self) -> None:
        assert crossed(evolved()) == {(0, 1), (0, 2), (0, 3), (2, 1), (2, 3)}  # 1 and 3 are as good

    def test_the_best_is_mutated_where_no_two_programs_have_different_scores(self) -> None:
        assert crossed(evolved(population={1: 1.0, 3: 1.0})) == {(1,)}
        asked = METHOD.ask(evolved(population={0: 1.0}), UNREAD, 4)
        assert isinstance(asked, Asked)  # and nothing is reflected on
        assert (asked.parents, asked.prompt.operator) == ((0,), "mutation")

    def test_the_elite_is_a_parent_though_it_is_not_of_the_population(self) -> None:
        state = evolved(population={0: 5.0, 1: 3.0})
        state.groups[POPULATION].members.remove(1)
        assert crossed(state) == {(0, 1)}

    def test_a_mutation_shows_the_elite_alone(self) -> None:
        asked = SILENT.ask(evolved(registered=8), UNREAD, 8)
        assert isinstance(asked, Asked)
        assert (asked.parents, asked.prompt.operator) == ((1,), "mutation")

    def test_a_mutation_shows_a_better_mutant_of_the_same_generation_at_once(self) -> None:
        state = evolved(registered=9)
        state.members[8] = member(8, 2.0)
        state.groups[POPULATION].members.append(8)
        asked = SILENT.ask(state, UNREAD, 9)
        assert isinstance(asked, Asked)
        assert asked.parents == (8,)


class TestReflections:
    def test_before_its_first_child_a_generation_reflects_once_on_each_pair(self) -> None:
        state, expected = evolved(), pairs_of(evolved(), range(4, 8))
        for number, pair in enumerate(expected):
            note = METHOD.ask(state, UNREAD, 4)
            assert isinstance(note, NoteAsked)
            assert (note.number, note.prompt.operator, note.about) == (number, "short-term-reflection", pair)
            take_note(state, *pair)
        assert isinstance(METHOD.ask(state, UNREAD, 4), Asked)

    def test_a_child_is_asked_for_with_the_hint_of_its_own_pair(self) -> None:
        state = evolved(notes=4)
        for child in range(4, 8):
            asked = METHOD.ask(state, UNREAD, child)
            assert isinstance(asked, Asked)
            hints = [note.text for note in state.notes.values() if note.asked.about == asked.parents]
            assert re.findall(r"Hint \d\.", asked.prompt.text) == hints

    def test_no_pair_is_reflected_on_for_a_child_that_the_budget_does_not_pay_for(self) -> None:
        state = evolved()
        assert state.started is not None
        state.started = replace(state.started, settings={"budget": 5})
        take_note(state, *pairs_of(state, range(4, 5))[0])
        assert isinstance(METHOD.ask(state, UNREAD, 4), Asked)
        for child in range(5, 8):  # the budget was raised: each child pays for its own
            (pair,) = pairs_of(state, range(child, child + 1))
            if pair not in [note.asked.about for note in state.notes.values()]:
                note = METHOD.ask(state, UNREAD, child)
                assert isinstance(note, NoteAsked) and note.about == pair
                take_note(state, *pair)
            assert isinstance(METHOD.ask(state, UNREAD, child), Asked)

    def test_before_its_first_mutant_a_generation_sums_its_hints_up(self) -> None:
        state = evolved(registered=8, notes=4)
        note = METHOD.ask(state, UNREAD, 8)
        assert isinstance(note, NoteAsked)
        assert (note.number, note.about, note.prompt.operator) == (4, (1,), "long-term-reflection")
        assert all(f"Hint {n}." in note.prompt.text for n in range(4))
        assert "Nothing was learnt before." in note.prompt.text
        take_note(state, 1, operator="long-term-reflection")
        asked = METHOD.ask(state, UNREAD, 8)
        assert isinstance(asked, Asked)
        assert "Hint 4." in asked.prompt.text

    def test_the_next_generation_sums_up_its_own_hints_and_what_was_learnt(self) -> None:
        state = evolved(registered=14, notes=2)
        take_note(state, 1, operator="long-term-reflection")
        take_note(state, 0, 1)
        take_note(state, 0, 3)
        long = METHOD.ask(state, UNREAD, 14)
        assert isinstance(long, NoteAsked)
        assert long.number == 5
        assert re.findall(r"Hint \d\.", long.prompt.text) == ["Hint 2.", "Hint 3.", "Hint 4."]
        take_note(state, 1, operator="long-term-reflection")
        mutant = METHOD.ask(state, UNREAD, 15)
        assert isinstance(mutant, Asked)
        assert re.findall(r"Hint \d\.", mutant.prompt.text) == ["Hint 5."]

    def test_nothing_new_is_not_summed_up_again(self) -> None:
        state = evolved(registered=14, notes=2)
        take_note(state, 1, operator="long-term-reflection")
        mutant = METHOD.ask(state, UNREAD, 14)
        assert isinstance(mutant, Asked)
        assert "Hint 2." in mutant.prompt.text

    def test_where_the_proposer_writes_none_or_none_are_wanted_there_are_none(self) -> None:
        offline = ReEvo(SETTINGS, replace(BRIEF, takes_notes=False))
        assert isinstance(offline.ask(evolved(), UNREAD, 4), Asked)
        assert isinstance(SILENT.ask(evolved(), UNREAD, 4), Asked)


def test_a_person_is_told_the_generation_and_how_many_reflections_were_made() -> None:
    state = evolved(notes=3)
    state.asked = 10
    assert METHOD.facts(state) == {"generation": "1", "reflections": "3"}
    state.asked = 9
    offline = ReEvo(SETTINGS, replace(BRIEF, takes_notes=False))
    assert offline.facts(state) == {"generation": "0", "reflections": "3 (the proposer writes none)"}
    state.asked = 2
    assert METHOD.facts(state)["generation"] == "0"


def test_in_a_whole_run_pairs_are_reflected_on_and_the_elite_only_gets_better() -> None:
    best, asked = -99.0, Counter[str]()
    events = events_of(method="reevo", initial_population=10, population=6, budget=82)
    for state, event in steps(events):
        if isinstance(event, Asked | NoteAsked):
            asked[event.prompt.operator] += 1
        if isinstance(event, Regrouped):
            (elite,) = event.groups[ELITE]
            assert state.members[elite].utility >= best
            best = state.members[elite].utility
            assert state.leader is not None
            assert best == state.leader.utility
    pairs = {event.parents for event in events if isinstance(event, Asked) and event.prompt.operator == "crossover"}
    assert asked["short-term-reflection"] == len(pairs) <= asked["crossover"] == 48
    assert (asked["long-term-reflection"], asked["mutation"]) == (8, 24)
