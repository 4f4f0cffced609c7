"""No question is asked twice while others are left, except with the paper's wording or where nobody reads prompts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from behavesim.methods.reevo import LONG_TERM
from behavesim.programs.constants import has_constants
from behavesim.prompts.reflected import paired_spread, what_became
from behavesim.state.events import Asked, NoteAsked, Reply
from behavesim.state.members import Member, Note
from tests.engine.toys import Toy
from tests.methods.test_statements import events_of

pytestmark = pytest.mark.usefixtures("replies_read_once")
METHODS = ("funsearch", "niche", "eoh", "map-elites", "mcts-ahd", "reevo", "set-search")
SETTINGS = {"samples_per_prompt": 1, "examples_per_prompt": 2, "population": 8, "initial_population": 12, "islands": 2}


def repeated(method: str, **settings: Any) -> int:
    """How many prompts of a run show several parents that an earlier one of the same operator showed."""
    own = {"mcts-ahd": (), "reevo": ("population", "initial_population"), "eoh": ("population", "examples_per_prompt")}
    names = own.get(method, ("samples_per_prompt", "examples_per_prompt"))
    events = events_of(method=method, **{name: SETTINGS[name] for name in names}, **settings)
    asked = Counter((e.prompt.operator, e.parents) for e in events if isinstance(e, Asked) and len(e.parents) > 1)
    return asked.total() - len(asked)


@pytest.mark.parametrize("method", METHODS)
def test_parents_are_shown_together_once_unless_the_paper_is_followed(method: str) -> None:
    assert repeated(method) < repeated(method, ask_once=False) or repeated(method) == 0
    assert repeated(method, prompts="paper") == repeated(method, prompts="paper", ask_once=False)


def test_only_constants_that_could_be_others_count() -> None:
    assert not has_constants("def f(x):\n    return x[0] - 1 if True else 2 * x[-1]\n")
    assert has_constants("def f(x):\n    return 0.35 * x\n")
    assert has_constants("int main() {")


def test_the_spread_is_that_of_the_paired_scores() -> None:
    worse, better = (Member(k, "", 0.0, 0.0, scores=scores) for k, scores in enumerate([(4.0, 2.0), (1.0, 3.0)]))
    said = paired_spread([worse, better], Toy().objective)
    assert "program 1 on 1 of 2 instances; its scores differ by -1 ± 2.8" in said
    assert paired_spread([worse, replace(better, scores=())], Toy().objective) == ""


def test_a_hint_is_summed_up_with_what_became_of_it_and_no_difference_is_not() -> None:
    notes = [event for event in events_of(method="reevo") if isinstance(event, NoteAsked)]
    summed = [note.prompt.text for note in notes if note.prompt.operator == LONG_TERM]
    assert summed and any("(written with it:" in text for text in summed)
    hint = Note(notes[0], Reply("No difference.", "m"), 2.0, [1.5, None])
    assert what_became(hint) == " (written with it: 1.5, rejected; the better parent 2)"
