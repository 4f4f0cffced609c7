"""What prompts say of the programs they show is true, in rehearsed searches of every method."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from behavesim import prompts
from behavesim.checks.method import INJECTED_PROGRAMS
from behavesim.methods.method import method_of
from behavesim.programs.answer import fenced_blocks
from behavesim.prompts.shown import REACHED, programs_to_vary
from behavesim.state.events import INJECTED, TEMPLATE, Asked, NoteAsked
from behavesim.state.members import Member
from behavesim.state.state import RunState
from behavesim.store.codec import decode
from tests.crash.deaths import METHODS
from tests.engine.toys import MemoryJournal, Toy, fitting, search
from tests.methods.runs import Events, steps
from tests.methods.states import UNREAD

pytestmark = pytest.mark.usefixtures("replies_read_once")

LONGEST = 9_000
"""Most characters of a prompt of the toy task, whose programs are short."""
WAYS = [("full", "scores"), ("full", "behaviour"), ("paper", "none"), ("small", "scores")]
"""Wordings, each with what is said of programs beside their code."""
CASES = [(method, *way) for place, method in enumerate(METHODS) for way in (WAYS[0], WAYS[3], WAYS[1 + place % 2])]
"""Each method in the two wordings of today, and in one of the other ways."""
RUN = {"budget": 48, "window": 8, "islands": 4, "restart_every": 20}


@cache
def events_of(**settings: Any) -> Events:
    """The events of a whole run into which a person put some programs."""

    async def run() -> Events:
        journal = MemoryJournal()
        built = await search(journal, {**RUN, **settings})
        await built.record(*INJECTED_PROGRAMS)
        assert await built.run() == "budget"
        return tuple(decode(*row) for row in journal.rows)

    return asyncio.run(run())


def questions(**settings: Any) -> Iterator[tuple[RunState, Asked | NoteAsked, list[Member]]]:
    """Each question to the model that shows programs, with the state before it and those programs."""
    known: dict[int, Member] = {}  # those that left the archive too: a question can be asked twice
    for state, event in steps(events_of(**settings)):
        if not isinstance(event, Asked | NoteAsked) or event.prompt.operator in (INJECTED, "long-term-reflection"):
            continue
        known |= state.members
        numbers = event.parents if isinstance(event, Asked) else event.about
        yield state, event, [known[number] for number in numbers]


def are_equal(state: RunState, shown: Sequence[Member]) -> bool:
    return len({each.score for each in shown}) == 1


def has_best(state: RunState, shown: Sequence[Member]) -> bool:
    return len(shown) > 1 and all(each.utility < shown[-1].utility for each in shown[:-1])


def are_sorted(state: RunState, shown: Sequence[Member]) -> bool:
    return len({each.score for each in shown}) > 1 and list(shown) == sorted(shown, key=lambda each: each.merit)


def is_leader(state: RunState, shown: Sequence[Member]) -> bool:
    assert state.leader is not None
    return [each.utility for each in shown] == [state.leader.utility]


def are_a_line(state: RunState, shown: Sequence[Member]) -> bool:
    line = sorted(shown, key=lambda each: each.candidate)
    grown = pairwise(line)
    return len(line) > 1 and all(
        child.origin == str(parent.candidate) and parent.candidate in child.parents for parent, child in grown
    )


def has_reached(state: RunState, shown: Sequence[Member]) -> bool:
    best = max((shown[-1], state.leader or shown[-1]), key=lambda each: each.utility)  # which stands beside them
    gap = Toy.objective.gap(best.score)
    return gap is not None and gap <= REACHED


def are_several(state: RunState, shown: Sequence[Member]) -> bool:
    return len({each.candidate for each in shown}) > 1


def is_the_template(state: RunState, shown: Sequence[Member]) -> bool:
    return [each.candidate for each in shown] in ([], [TEMPLATE])


STATEMENTS: dict[str, Callable[[RunState, Sequence[Member]], bool]] = {
    "they score the same": are_equal,
    "the best one last": are_sorted,
    "the better one last": are_sorted,
    "best score known, so a better one": has_reached,
    "from worse to better": are_sorted,
    "program is better than those before it": has_best,
    "This one solves it better": has_best,
    "the difference between their scores": has_best,
    "makes the second program better": has_best,
    "what is good in both": has_best,
    "This is the best program so far": is_leader,
    "one line of descent": are_a_line,
    "have in common, and why": are_several,
    "idea that the given algorithms share": are_several,
    "program that the search begins with": is_the_template,
}


@pytest.mark.parametrize(("method", "wording", "feedback"), CASES)
def test_what_a_prompt_says_of_its_programs_is_true(method: str, wording: str, feedback: str) -> None:
    for state, event, shown in questions(method=method, prompts=wording, prompt_feedback=feedback):
        text = event.prompt.text
        sources = [each.source.strip() for each in shown] or [Toy.template.strip()]
        assert [block.strip() for block in programs_to_vary(text)] == sources
        in_one_line = " ".join(text.split())
        for statement, is_true in STATEMENTS.items():
            if statement in in_one_line:
                assert is_true(state, shown), f"candidate {state.asked}: {statement!r} of {shown}"


def test_every_statement_is_one_that_prompts_make() -> None:
    folder = Path(prompts.__file__).parent
    texts = [path.read_text() for path in (*folder.glob("*/*.md"), folder / "shown.py")]
    assert [statement for statement in STATEMENTS if not any(statement in text for text in texts)] == []


@pytest.mark.parametrize(("method", "wording", "feedback"), CASES)
def test_no_prompt_holds_a_control_character_or_a_place_that_was_not_filled_in(
    method: str, wording: str, feedback: str
) -> None:
    for event in events_of(method=method, prompts=wording, prompt_feedback=feedback):
        if isinstance(event, Asked | NoteAsked):
            text = event.prompt.text
            assert not [c for c in text if unicodedata.category(c) == "Cc" and c != "\n"], event
            assert not re.search(r"\$\w", text), event
            assert len(text) < LONGEST


@pytest.mark.parametrize("method", METHODS)
def test_the_template_counts_as_a_program_wherever_the_best_one_is_meant(method: str) -> None:
    # the toy's template is as good as a program can be
    for state, event, shown in questions(method=method, prompts="full", prompt_feedback="scores"):
        assert state.template is not None
        if method == "hill-climbing" or event.prompt.operator == "mutation":
            assert [each.utility for each in shown] == [state.template.utility]


@pytest.mark.parametrize(
    ("method", "samples", "n_init"), [("funsearch", 2, 8), ("funsearch+behavesim", 3, 9), ("niche", 3, 9)]
)
def test_candidates_that_share_programs_are_asked_in_other_words(method: str, samples: int, n_init: int) -> None:
    settings = {"method": method, "samples_per_prompt": samples, "n_init": n_init}
    deciding = method_of(fitting({**RUN, **settings}), Toy(), takes_notes=True)
    events, asked, firsts = events_of(**settings), dict[int, Asked](), 0
    for state, event in steps(events):
        if not isinstance(event, Asked) or event.candidate < n_init or event.prompt.operator == INJECTED:
            continue
        first = event.candidate - (event.candidate - n_init) % samples
        shared = [asked[number] for number in range(first, event.candidate) if number in asked]
        if shared and all(parent in state.members for parent in shared[-1].parents):
            assert (event.parents, event.group) == (shared[-1].parents, shared[-1].group)
            assert event.prompt.text not in {each.prompt.text for each in asked.values()}
        else:
            state.last_asked = None  # nothing that was asked before is asked again
            wanted = deciding.ask(state, UNREAD, event.candidate)
            assert isinstance(wanted, Asked)
            assert deciding.prompts.complete(wanted, state, UNREAD) == event
            firsts += event.candidate != first
        asked[event.candidate] = event
    assert firsts, "a person's program takes the first place of some"


@pytest.mark.parametrize("wording", ["full", "small"])
@pytest.mark.parametrize("method", METHODS)
def test_no_model_is_asked_the_same_words_twice(method: str, wording: str) -> None:
    texts = [
        event.prompt.text
        for event in events_of(method=method, prompts=wording, prompt_feedback="scores")
        if isinstance(event, Asked) and event.prompt.operator != INJECTED
    ]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("method", METHODS)
def test_whoever_is_to_improve_sees_the_best_program_so_far_and_what_to_beat(method: str) -> None:
    for state, event, shown in questions(method=method, prompts="full", prompt_feedback="scores"):
        if not isinstance(event, Asked) or is_the_template(state, shown):
            continue
        assert state.leader is not None
        sources = [block.strip() for block in fenced_blocks(event.prompt.text)]
        best = [each for each in (*shown, state.leader) if each.utility >= state.leader.utility]
        assert any(each.source.strip() in sources for each in best)
        if event.prompt.operator in ("improve", "crossover", "e1", "m1"):
            best_known = state.objective.gap(state.leader.score) == 0.0
            goal = "no worse than {:.6g}, the best known" if best_known else "better than {:.6g}, the best so far"
            assert goal.format(state.leader.score) in event.prompt.text


@pytest.mark.parametrize(("mutation_rate", "budget"), [(0.0, 37), (0.5, 37), (0.5, 40)])
def test_no_more_reflections_are_paid_for_than_there_are_children(mutation_rate: float, budget: int) -> None:
    events = events_of(method="reevo", budget=budget, population=4, mutation_rate=mutation_rate)
    first = budget // 4
    notes = Counter(event.prompt.operator for event in events if isinstance(event, NoteAsked))
    assert 0 < notes["short-term-reflection"] <= budget - first
    mutants = {e.candidate for e in events if isinstance(e, Asked) and e.prompt.operator == "mutation"}
    assert notes["long-term-reflection"] <= len(mutants)
    children = [e for e in events if isinstance(e, Asked) and e.prompt.operator in ("crossover", INJECTED)]
    assert notes["short-term-reflection"] <= len([e for e in children if e.candidate >= first])
