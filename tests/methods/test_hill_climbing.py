"""(1+1) evolutionary program search: one program, replaced by a child that is no worse."""

from __future__ import annotations

from behavesim.methods.baselines import CURRENT, HillClimbing
from behavesim.methods.method import MethodSettings
from behavesim.state.events import TEMPLATE, Added, NotAdded
from tests.engine.toys import Toy
from tests.methods.states import BRIEF, UNREAD, candidate, member, state_of

CLIMBER = HillClimbing(MethodSettings(), BRIEF)
CLIMBED = state_of([member(4, 5.0)], {CURRENT: [4]})


def test_a_prompt_shows_the_current_program_and_the_template_before_there_is_one() -> None:
    first, later = CLIMBER.ask(state_of(), UNREAD, 0), CLIMBER.ask(CLIMBED, UNREAD, 5)
    assert (first.candidate, first.parents, first.group, first.prompt.operator) == (0, (TEMPLATE,), CURRENT, "improve")
    assert (later.candidate, later.parents) == (5, (4,))
    assert Toy.template.strip() in first.prompt.text and "program 4" in later.prompt.text


def test_a_child_that_is_no_worse_takes_the_place_of_the_current_program() -> None:
    assert CLIMBER.register(CLIMBED, UNREAD, candidate(5, 4.0)) == Added(5, CURRENT, (4,))
    assert CLIMBER.register(CLIMBED, UNREAD, candidate(5, 5.0)) == Added(5, CURRENT, (4,))
    assert CLIMBER.register(CLIMBED, UNREAD, candidate(5, 6.0)) == NotAdded(5)
    assert CLIMBER.register(CLIMBED, UNREAD, candidate(5)) == NotAdded(5)


def test_the_template_counts_it_is_not_replaced_by_a_first_child_that_is_worse() -> None:
    template = state_of().template
    assert template is not None and template.score == 9.0
    assert CLIMBER.register(state_of(), UNREAD, candidate(0, 9.5)) == NotAdded(0)
    assert CLIMBER.register(state_of(), UNREAD, candidate(0, 9.0)) == Added(0, CURRENT)


def test_behaviour_plays_no_part() -> None:
    assert not CLIMBER.uses_behaviour
