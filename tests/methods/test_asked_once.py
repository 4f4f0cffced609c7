"""No question is asked twice while others are left, except with the paper's wording or where nobody reads prompts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from behavesim.methods.eoh import POPULATION, EoH, EoHSettings
from behavesim.methods.method import TRIES, MethodContext
from behavesim.methods.reevo import LONG_TERM
from behavesim.programs.functions import has_constants
from behavesim.prompts.feedback import what_became
from behavesim.prompts.prompts import Prompts
from behavesim.prompts.shown import compare_by_instance
from behavesim.state.events import Asked, NoteAsked, Reply
from behavesim.state.members import Member, Note
from tests.engine.toys import Toy, fitting
from tests.methods.runs import Events, steps
from tests.methods.states import BRIEF, UNREAD, member, state_of
from tests.methods.test_statements import events_of

pytestmark = pytest.mark.usefixtures("replies_read_once")
METHODS = ("funsearch", "niche", "eoh", "map-elites", "mcts-ahd", "reevo", "set-search")
SETTINGS = {"samples_per_prompt": 1, "examples_per_prompt": 2, "population": 8, "initial_population": 12, "islands": 2}


def repeated(method: str, **settings: Any) -> int:
    """How many prompts of a run show several parents that an earlier one of the same operator showed."""
    own = {"mcts-ahd": (), "reevo": ("population", "initial_population"), "eoh": ("population", "examples_per_prompt")}
    names = own.get(method, ("samples_per_prompt", "examples_per_prompt"))
    events = events_of(method=method, budget=50, **{name: SETTINGS[name] for name in names}, **settings)
    asked = Counter((e.prompt.operator, e.parents) for e in events if isinstance(e, Asked) and len(e.parents) > 1)
    return asked.total() - len(asked)


@pytest.mark.parametrize("method", METHODS)
def test_parents_are_shown_together_once_unless_the_paper_is_followed(method: str) -> None:
    assert repeated(method) < repeated(method, ask_once=False) or repeated(method) == 0
    assert repeated(method, prompts="paper") == repeated(method, prompts="paper", ask_once=False)


def asked_again(events: Events) -> list[Asked]:
    """The prompts that show a program alone once more while the operator has not shown another of the population."""
    found = []
    for state, event in steps(events):
        if isinstance(event, Asked) and event.prompt.operator in ("m1", "m2", "m3", "ls"):
            shown, members = state.shown_parents.get(event.prompt.operator, set()), state.members_of(POPULATION)
            able = [each for each in members if event.prompt.operator != "m2" or has_constants(each.source)]
            if event.parents in shown and any((each.candidate,) not in shown for each in able):
                found.append(event)
    return found


@pytest.mark.parametrize("method", ["eoh", "eoh+behavesim", "eoh-s"])
def test_a_program_is_shown_alone_again_only_once_the_whole_population_was(method: str) -> None:
    own = {"population": 8} if method == "eoh-s" else {"population": 8, "operators": ("e1", "m1", "m2", "m3")}
    assert asked_again(events_of(method=method, **own)) == []
    assert asked_again(events_of(method=method, ask_each_once=False, **own))
    by_paper = [
        [
            each
            for each in events_of(method=method, prompts="paper", ask_each_once=once, **own)
            if isinstance(each, Asked)
        ]
        for once in (True, False)
    ]
    assert by_paper[0] == by_paper[1]


@pytest.mark.parametrize(("operators", "instead"), [(("m2", "m3", "m1"), "m1"), (("e1", "m3", "m2"), "m3")])
def test_another_operator_takes_the_turn_of_m2_where_no_program_has_constants_that_m2_has_not_changed(
    operators: Any, instead: str
) -> None:
    members = [member(0, 1.0, "def f():\n    return 0.5\n"), member(1, 2.0, "def f():\n    return 1\n")]
    state = state_of(members, {POPULATION: [0, 1]}, registered=20)
    brief = MethodContext(0, Prompts.of_run(fitting({"method": "eoh"}), Toy()), takes_notes=True)
    eoh, turns = EoH(EoHSettings(population=2, operators=operators), brief), range(operators.index("m2"), 40, 3)
    for candidate in turns:
        asked = eoh.ask(state, UNREAD, candidate)
        assert asked is not None and (asked.prompt.operator, asked.parents) == ("m2", (0,))
    state.shown_parents = {"m2": {(0,)}, instead: {(0,)}}
    for candidate in turns:
        asked = eoh.ask(state, UNREAD, candidate)
        assert asked is not None and (asked.prompt.operator, asked.parents) == (instead, (1,))


@pytest.mark.parametrize("each_once", [True, False])
def test_no_model_is_asked_for_numbers_where_the_machine_tunes_them(each_once: bool) -> None:
    members = [member(number, 1.0, f"def f():\n    return 0.{number + 3}\n") for number in range(2)]
    state = state_of(members, {POPULATION: [0, 1]}, registered=20)
    run = fitting({"method": "eoh", "tune": 0.5, "ask_each_once": each_once})
    brief = MethodContext(0, Prompts.of_run(run, Toy()), takes_notes=True)
    eoh = EoH(EoHSettings(population=2, operators=("m2", "m1")), brief)
    asked = [eoh.ask(state, UNREAD, candidate) for candidate in range(8)]
    assert {None if each is None else each.prompt.operator for each in asked} == {"m1"}


@pytest.mark.parametrize("settings", [{}, {"ask_each_once": False}, {"prompts": "paper"}])
def test_an_operator_that_a_person_left_out_is_never_asked(settings: dict[str, Any]) -> None:
    brief = MethodContext(0, Prompts.of_run(fitting({"method": "eoh", **settings}), Toy()), takes_notes=True)
    whole, half = member(0, 1.0, "def f():\n    return 1\n"), member(1, 2.0, "def f():\n    return 0.5\n")
    for members, shown in (([whole], {0}), ([whole, half], {0, 1})):
        state = state_of(members, {POPULATION: [each.candidate for each in members]}, registered=90)
        for operators in (("m2",), ("e1",), ("e2", "m2"), ("m3", "m2")):
            eoh = EoH(EoHSettings(population=3, operators=operators), brief)  # type: ignore[arg-type]
            for candidate in range(90, 110):
                state.shown_parents = {"m2": {(each,) for each in shown}}
                asked = eoh.ask(state, UNREAD, candidate)
                assert asked is not None and asked.prompt.operator in operators and asked.parents


def test_only_constants_that_could_be_others_count() -> None:
    assert not has_constants("def f(x):\n    return x[0] - 1 if True else 2 * x[-1]\n")
    assert has_constants("def f(x):\n    return 0.35 * x\n")
    assert has_constants("int main() {")


def test_the_spread_is_that_of_the_paired_scores() -> None:
    worse, better = (Member(k, "", 0.0, 0.0, scores=scores) for k, scores in enumerate([(4.0, 2.0), (1.0, 3.0)]))
    said = compare_by_instance([worse, better], Toy().objective)
    assert "program 1 on 1 of 2 instances; its scores differ by -1 ± 2.8" in said
    assert compare_by_instance([worse, replace(better, scores=())], Toy().objective) == ""
    apart = [replace(worse, scores=(1e308, 0.0)), replace(better, scores=(-1e308, 0.0))]
    assert compare_by_instance(apart, Toy().objective) == ""


def test_a_hint_is_summed_up_with_what_became_of_it_and_no_difference_is_not() -> None:
    notes = [event for event in events_of(method="reevo") if isinstance(event, NoteAsked)]
    summed = [note.prompt.text for note in notes if note.prompt.operator == LONG_TERM]
    assert summed and any("(written with it:" in text for text in summed)
    hint = Note(notes[0], Reply("No difference.", "m"), 2.0, [1.5, None])
    assert what_became(hint) == " (written with it: 1.5, rejected; the better parent 2)"


def test_no_more_parents_are_drawn_than_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EoH, "asks_once", True)
    pair, drawn = [member(0, 1.0), member(1, 2.0)], list[bool]()

    def draw(is_uniform: bool) -> list[Member]:
        drawn.append(is_uniform)
        return pair

    shown = {(0, 1)}
    assert EoH(EoHSettings(), BRIEF).fresh(state_of(pair), "e1", draw, shown) is pair
    assert drawn == [False] * TRIES + [True] * (TRIES - 1)
