"""Best of n: the same question again and again."""

from __future__ import annotations

from behavesim.methods.baselines import ARCHIVE, BestOfN
from behavesim.methods.method import MethodSettings
from behavesim.state.events import TEMPLATE, Added, NotAdded
from tests.engine.toys import Toy
from tests.methods.states import BRIEF, UNREAD, candidate, member, state_of

METHOD = BestOfN(MethodSettings(), BRIEF)


def test_every_question_shows_the_template_alone_and_begins_from_another_angle() -> None:
    first, later = METHOD.ask(state_of(), UNREAD, 0), METHOD.ask(state_of([member(0)], {ARCHIVE: [0]}), UNREAD, 7)
    assert (first.candidate, later.candidate) == (0, 7)
    assert (first.parents, first.group) == (later.parents, later.group)
    assert first.prompt.text != later.prompt.text
    assert (first.parents, first.prompt.operator) == ((TEMPLATE,), "template")
    assert Toy.template.strip() in first.prompt.text and Toy.description in first.prompt.text


def test_every_feasible_program_is_kept() -> None:
    assert METHOD.register(state_of(), UNREAD, candidate(3, 99.0)) == Added(3, ARCHIVE)
    assert METHOD.register(state_of(), UNREAD, candidate(3)) == NotAdded(3)
