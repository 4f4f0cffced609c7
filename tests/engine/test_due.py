"""What is due next: in which order, and what each waits for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import behavesim.engine.due as engine
from behavesim.base.errors import PartError
from behavesim.engine.due import IN_A_ROW, Allowed, Rules
from behavesim.methods.method import Method, MethodSettings
from behavesim.similarity import BehaveSim
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    Added,
    Asked,
    Compared,
    Decision,
    Evaluated,
    Injected,
    NotAdded,
    NoteAsked,
    NoteReceived,
    Prompt,
    Regrouped,
    Rejected,
    Reply,
    Responded,
    RunForked,
)
from behavesim.state.members import OpenCandidate
from behavesim.state.state import RunState
from tests.engine.toys import Toy, fitting
from tests.methods.states import BRIEF, UNREAD, candidate, state_of

ALL = Allowed(regroup=True, repair=True, ask=True)
NONE = Allowed(regroup=False, repair=False, ask=False)
RULES = Rules(window=4, repairs=1)
REGROUPED, NOTE = Regrouped({"0": (-1,)}), NoteAsked(0, (), Prompt("Why?", "reflection"))


class Nearness(Behaviours):
    """Behaviours in which every program is half like every other; `measured` counts how often that was worked out."""

    measured = 0

    def __init__(self) -> None:
        super().__init__(BehaveSim(normaliser=1.0))

    def _to_members(self, measure: Any, candidate: int, groups: Any) -> dict[int, float]:
        self.measured += 1
        return {number: 0.5 for numbers in groups for number in numbers}


class Events(Method[MethodSettings]):
    """Decides as it was told to."""

    def __init__(self, regrouped: Regrouped | None = None, question: Any = "ask", compares: bool = False) -> None:
        super().__init__(MethodSettings(), BRIEF)
        self.regrouped, self.question, self.compares = regrouped, question, compares

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        return self.regrouped

    def ask(self, state: RunState, behaviours: Behaviours, number: int) -> Asked | NoteAsked | None:
        return asked(number) if self.question == "ask" else self.question

    def register(self, state: RunState, behaviours: Behaviours, opened: OpenCandidate) -> Added | NotAdded:
        if self.compares and opened.is_feasible:
            behaviours.means(opened.id, {"0": (TEMPLATE, 7)})
            behaviours.similarities(opened.id, (7,))
        return Added(opened.id, "0") if opened.is_feasible else NotAdded(opened.id)


def due(state: RunState, method: Events, rules: Rules, permits: Allowed) -> Decision | None:
    """The decision that is due where no behaviours are kept."""
    (decision,) = engine.next_decision(state, UNREAD, method, rules, permits) or (None,)
    return decision


def asked(number: int, operator: str = "improve") -> Asked:
    return Asked(number, (), None, Prompt(f"question {number}", operator))


def rejected(number: int, repairs: int = 0) -> OpenCandidate:
    outcome = Rejected(number, "extraction", "syntax", "line 1")
    operator = "repair" if repairs else "improve"
    return OpenCandidate(asked(number, operator), Reply("no program", "m"), outcome, repairs=repairs)


def noted(state: RunState, answered: bool) -> RunState:
    state.apply(NOTE)
    if answered:
        state.apply(NoteReceived(0, Reply("Because.", "m")))
    return state


def test_a_runs_rules_are_those_of_its_settings() -> None:
    assert Rules.of(fitting({"window": 5, "repair": 2}), Toy()) == Rules(window=5, repairs=2)


def test_a_regrouping_comes_first_then_a_repair_then_a_question_then_a_registration() -> None:
    state = state_of(opened=[candidate(0, 1.0), rejected(1)])
    method = Events(REGROUPED)
    assert due(state, method, RULES, ALL) == REGROUPED
    repair = due(state, method, RULES, Allowed(regroup=False, repair=True, ask=True))
    assert isinstance(repair, Asked)
    assert (repair.candidate, repair.prompt.operator) == (1, "repair")
    assert due(state, method, RULES, Allowed(regroup=False, repair=False, ask=True)) == asked(2)
    assert due(state, method, RULES, NONE) == Added(0, "0")


class TestRepair:
    def test_the_first_rejected_candidate_is_asked_for_again_with_what_went_wrong(self) -> None:
        repair = due(state_of(opened=[candidate(0), rejected(1), rejected(2)]), Events(), RULES, ALL)
        assert isinstance(repair, Asked)
        assert repair.candidate == 1
        for said in ("question 1", "no program", "syntax", "line 1"):
            assert said in repair.prompt.text

    def test_a_candidate_gets_as_many_tries_as_granted(self) -> None:
        spent = state_of(opened=[rejected(0, repairs=1)])
        assert due(spent, Events(), RULES, Allowed(True, True, False)) == NotAdded(0)
        repair = due(spent, Events(), Rules(window=4, repairs=2), Allowed(True, True, False))
        assert isinstance(repair, Asked)
        assert repair.prompt.operator == "repair"
        fresh = state_of(opened=[rejected(0)])
        assert due(fresh, Events(), Rules(window=4, repairs=0), Allowed(True, True, False)) == NotAdded(0)

    def test_a_prompt_that_the_endpoint_refused_is_not_mended(self) -> None:
        outcome = Rejected(0, "extraction", "given-up", "the endpoint failed (502)")
        given_up = OpenCandidate(asked(0), Reply("", "m", fault=outcome.message), outcome)
        assert due(state_of(opened=[given_up]), Events(), RULES, Allowed(True, True, False)) == NotAdded(0)

    def test_who_put_in_a_program_is_not_asked_to_mend_it(self) -> None:
        injected = OpenCandidate(asked(0, INJECTED), Reply("no program", INJECTED), rejected(0).outcome)
        assert due(state_of(opened=[injected]), Events(), RULES, Allowed(True, True, False)) == NotAdded(0)
        repair = due(state_of(opened=[injected, rejected(1)]), Events(), RULES, Allowed(True, True, False))
        assert isinstance(repair, Asked)
        assert repair.candidate == 1


class TestAsk:
    def test_a_program_that_somebody_put_in_takes_the_place_of_the_next_question(self) -> None:
        state = state_of()
        state.injected = [Injected("later.py", "", not_before=1), Injected("now.py", "a program")]
        assert due(state, Events(), RULES, ALL) == Asked(0, (), None, Prompt("a program", INJECTED))
        assert due(state, Events(question=None), RULES, ALL) is None
        assert due(state, Events(question=NOTE), RULES, ALL) == NOTE

    @pytest.mark.parametrize(
        ("registered", "opened", "may_ask"), [(0, 3, True), (0, 4, False), (2, 3, True), (5, 3, True), (5, 4, False)]
    )
    def test_a_candidate_is_asked_for_once_the_window_admits_it(
        self, registered: int, opened: int, may_ask: bool
    ) -> None:
        waiting = [candidate(number) for number in range(registered, registered + opened)]
        state = state_of(opened=waiting, registered=registered)
        assert due(state, Events(), RULES, ALL) == (asked(registered + opened) if may_ask else None)

    def test_a_method_that_waits_for_more_lets_others_be_registered(self) -> None:
        state = state_of(opened=[candidate(0, 1.0)])
        assert due(state, Events(question=None), RULES, ALL) == Added(0, "0")

    def test_a_note_is_asked_for_though_another_is_awaited_and_nothing_else_is(self) -> None:
        state = noted(state_of(opened=[candidate(0, 1.0)]), answered=False)
        assert due(state, Events(question=NOTE), RULES, ALL) == NOTE
        assert due(state, Events(), RULES, ALL) is None
        assert due(state, Events(question=None), RULES, ALL) is None
        assert due(noted(state, answered=True), Events(), RULES, ALL) == asked(1)

    @pytest.mark.parametrize(("question", "model"), [("ask", "model 3"), (NOTE, "model -2")])
    def test_the_model_of_a_question_is_chosen_by_the_number_of_its_candidate_or_note(
        self, question: Any, model: str
    ) -> None:
        rules = Rules(window=4, repairs=1, choose=lambda state, number: f"model {number}")
        question = due(state_of(registered=3), Events(question=question), rules, ALL)
        assert isinstance(question, Asked | NoteAsked)
        assert question.prompt.model == model


class TestCircles:
    @pytest.mark.parametrize(
        ("method", "said"),
        [(Events(REGROUPED), "rearranges groups without end"), (Events(question=NOTE), "asks for notes without end")],
    )
    def test_decisions_in_a_row_that_lead_to_no_candidate_end_in_an_error(self, method: Events, said: str) -> None:
        state = state_of()
        for _ in range(IN_A_ROW):
            decision = due(state, method, RULES, ALL)
            assert isinstance(decision, Regrouped | NoteAsked)
            state.apply(decision)
        with pytest.raises(PartError, match=f"{__file__} {said}: 1000 decisions in a row"):
            due(state, method, RULES, ALL)

    def test_each_candidate_asked_for_or_registered_begins_a_new_row(self) -> None:
        state, method = state_of(), Events(REGROUPED)
        for _ in range(IN_A_ROW):
            state.apply(REGROUPED)
        state.apply(asked(0))
        assert due(state, method, RULES, ALL) == REGROUPED
        for _ in range(IN_A_ROW):
            state.apply(REGROUPED)
        for event in (Responded(0, Reply("", "m")), Rejected(0, "extraction", "empty"), NotAdded(0)):
            state.apply(event)
        assert due(state, method, RULES, ALL) == REGROUPED

    def test_a_fork_may_go_on_with_the_method_mended(self) -> None:
        state = state_of()
        for _ in range(IN_A_ROW):
            state.apply(REGROUPED)
        state.apply(RunForked("before", {}, {}))
        assert due(state, Events(REGROUPED), RULES, ALL) == REGROUPED

    @pytest.mark.parametrize("prompt", ["improve it", Prompt(5, "own"), Prompt("improve it", None)])  # type: ignore[arg-type]
    def test_a_prompt_that_is_no_text_ends_in_an_error(self, prompt: Any) -> None:
        with pytest.raises(PartError, match=r"^the method asks with .*; mend it"):
            due(state_of(), Events(question=Asked(0, (), None, prompt)), RULES, ALL)

    def test_a_note_that_the_proposer_cannot_write_ends_in_an_error(self) -> None:
        method = Events(question=NOTE)
        method.context = replace(method.context, takes_notes=False)
        with pytest.raises(PartError, match=r"asks for a note, and the proposer of this run writes none"):
            due(state_of(), method, RULES, ALL)

    @pytest.mark.parametrize("number", [0, 2])
    def test_a_question_for_a_candidate_out_of_turn_ends_in_an_error(self, number: int) -> None:
        state = state_of(opened=[rejected(0, repairs=1)])
        with pytest.raises(PartError, match=f"asks for candidate {number}, not 1"):
            due(state, Events(question=asked(number)), RULES, ALL)


class TestRegister:
    def test_candidates_are_registered_in_the_order_in_which_they_were_asked_for(self) -> None:
        assert due(state_of(opened=[candidate(0), candidate(1, 1.0)]), Events(), RULES, NONE) is None
        later = state_of(opened=[candidate(3, 1.0), candidate(4, 2.0)], registered=3)
        assert due(later, Events(), RULES, NONE) == Added(3, "0")
        assert due(state_of(), Events(), RULES, NONE) is None

    def test_what_a_registration_read_is_recorded_before_it_and_once(self) -> None:
        state, behaviours = state_of(opened=[candidate(0, 1.0)]), Nearness()
        compared = Compared(0, {"0": 0.5}, {7: 0.5})
        both = engine.next_decision(state, behaviours, Events(compares=True), RULES, NONE)
        assert both == (compared, Added(0, "0"))
        assert behaviours.measured == 2
        state.open[0].compared = compared  # the run was stopped between the two
        assert engine.next_decision(state, behaviours, Events(compares=True), RULES, NONE) == (Added(0, "0"),)
        assert behaviours.measured == 2

    def test_a_method_that_reads_behaviours_must_say_so(self) -> None:
        with pytest.raises(PartError, match="uses_behaviour = True"):
            due(state_of(opened=[candidate(0, 1.0)]), Events(compares=True), RULES, NONE)


def test_a_feasible_candidate_is_no_case_for_repair() -> None:
    opened = candidate(0, 1.0)
    assert isinstance(opened.outcome, Evaluated)
    assert due(state_of(opened=[opened]), Events(), RULES, Allowed(True, True, False)) == Added(0, "0")
