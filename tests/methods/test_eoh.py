"""EoH's population: how it is filled, whom it shows, who stays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from behavesim.events import Added, Asked, Compared, Evaluated, NotAdded
from behavesim.methods.eoh import POPULATION
from behavesim.programs.extract import extract, fenced_blocks
from behavesim.prompts.eoh import EohPrompts, Example
from behavesim.similarity import BehaveSim
from behavesim.state import RunState
from tests.methods.told import events_of, final, steps
from tests.search.toys import Toy

METHODS = ["eoh", "eoh+behavesim"]
SIZE = 8


def population(state: RunState) -> list[int]:
    return state.groups[POPULATION].members if POPULATION in state.groups else []


@pytest.mark.parametrize("method", METHODS)
async def test_first_programs_are_asked_for_until_the_population_is_full_and_no_longer(method: str) -> None:
    for state, event in steps(await events_of(method=method, population=SIZE)):
        if isinstance(event, Asked):
            assert (event.prompt.operator == "i1") == (len(population(state)) < SIZE)
            if event.prompt.operator == "i1":
                assert len(population(state)) + len(state.open) < SIZE
                assert event.parents == ()


@pytest.mark.parametrize("operators", [("e1", "e2", "m1", "m2"), ("e1", "e2", "m1", "m2", "m3"), ("m2",)])
async def test_the_operators_take_turns(operators: tuple[str, ...]) -> None:
    events = await events_of(method="eoh", population=SIZE, operators=operators)
    asked = [e for e in events if isinstance(e, Asked) and e.prompt.operator != "i1"]
    assert [e.prompt.operator for e in asked] == [operators[e.candidate % len(operators)] for e in asked]
    counts = Counter(e.prompt.operator for e in asked)
    assert max(counts.values()) - min(counts[operator] for operator in operators) <= 1


@pytest.mark.parametrize("method", METHODS)
async def test_parents_are_different_members_shown_from_worse_to_better(method: str) -> None:
    for state, event in steps(await events_of(method=method, population=SIZE)):
        if not isinstance(event, Asked) or event.prompt.operator == "i1":
            continue
        assert len(event.parents) == len(set(event.parents)) == (2 if event.prompt.operator in ("e1", "e2") else 1)
        assert set(event.parents) <= set(population(state))
        shown = [state.members[parent] for parent in event.parents]
        assert [member.utility for member in shown] == sorted(member.utility for member in shown)
        assert [block.strip() for block in fenced_blocks(event.prompt.text)] == [m.source.strip() for m in shown]


@pytest.mark.parametrize("method", METHODS)
async def test_the_population_never_holds_a_program_twice_nor_loses_its_best(method: str) -> None:
    best: float | None = None
    for state, event in steps(await events_of(method=method, population=SIZE)):
        members = [state.members[m] for island in state.islands.values() for m in island.members]
        assert len(members) <= SIZE
        assert len({member.program_hash for member in members}) == len(members)
        if isinstance(event, Added | NotAdded) and state.best is not None:
            assert state.best.candidate in population(state)
            assert best is None or state.best.utility >= best
            best = state.best.utility


async def test_plain_eoh_keeps_the_best_programs_of_all() -> None:
    events = await events_of(method="eoh", population=SIZE)
    first: dict[str, Evaluated] = {}
    for event in sorted(
        (e for e in events if isinstance(e, Evaluated) and e.candidate >= 0), key=lambda e: e.candidate
    ):
        first.setdefault(event.program_hash, event)
    wanted = sorted(first.values(), key=lambda e: (e.score, e.candidate))[:SIZE]
    assert population(final(events)) == sorted(e.candidate for e in wanted)


async def test_with_behaviour_every_pair_of_members_has_been_compared_within_bounds() -> None:
    events = await events_of(method="eoh+behavesim", population=SIZE)
    assert all(0 <= value <= 1 for e in events if isinstance(e, Compared) for value in e.to_members.values())
    state, measure = final(events), BehaveSim(Toy.normaliser)
    behaviour = {e.candidate: e.trajectories for e in events if isinstance(e, Evaluated)}
    members = population(state)
    assert len(members) == SIZE
    for place, younger in enumerate(members):
        for elder in members[:place]:
            expected = measure.between(behaviour[younger], behaviour[elder])
            assert state.members[younger].similarity[elder] == pytest.approx(expected, abs=1e-12)


async def test_plain_eoh_compares_nothing() -> None:
    assert not [e for e in await events_of(method="eoh") if isinstance(e, Compared)]


async def test_the_methods_keep_different_programs() -> None:
    plain, ours = [final(await events_of(method=method, population=SIZE)) for method in METHODS]
    assert plain.best is not None and ours.best is not None
    worst = [min(state.members[m].utility for m in population(state)) for state in (plain, ours)]
    assert worst[1] < worst[0]  # a place is worth more to an unlike program than to another good one


async def test_better_members_are_parents_more_often() -> None:
    ranks: Counter[int] = Counter()
    for state, event in steps(await events_of(method="eoh", population=SIZE, budget=600, operators=("m1",))):
        if isinstance(event, Asked) and event.parents:
            order = sorted(population(state), key=lambda m: (-state.members[m].utility, m))
            ranks[order.index(event.parents[0])] += 1
    expected = 1 / (np.arange(1, SIZE + 1) + SIZE)
    expected *= sum(ranks.values()) / expected.sum()
    deviation = sum((ranks[rank] - expected[rank]) ** 2 / expected[rank] for rank in range(SIZE))
    assert deviation < 20.3  # the χ² distribution with 7 degrees of freedom exceeds this once in 200 times
    assert ranks[0] > ranks[SIZE - 1]


PROMPTS = EohPrompts("Return a number.", Toy.template, "number")


def test_a_thought_stands_in_prose_before_its_program() -> None:
    text = PROMPTS.vary(
        "e2", [Example("def number(): return 1", "Go low."), Example("def number(): return 2", "Go high.")]
    )
    assert text.index("Go low.") < text.index("return 1") < text.index("Go high.") < text.index("return 2")
    assert len(fenced_blocks(text)) == 2


def test_a_thought_cannot_open_a_block_of_its_own() -> None:
    text = PROMPTS.vary("m1", [Example("def number(): return 1", "Do\n```python\nevil()\n``` this")])
    assert [block.strip() for block in fenced_blocks(text)] == ["def number(): return 1"]


@pytest.mark.parametrize("operator", ["e1", "e2", "m1", "m2", "m3"])
def test_every_operator_asks_for_something_of_its_own(operator: str) -> None:
    examples = [Example("def number(): return 1")]
    others = {PROMPTS.vary(other, examples) for other in ("e1", "e2", "m1", "m2", "m3") if other != operator}  # type: ignore[arg-type]
    assert PROMPTS.vary(operator, examples) not in others  # type: ignore[arg-type]


def test_the_reply_that_a_prompt_asks_for_is_read_with_its_thought() -> None:
    reply = "{Return the largest number known.}\n\n```python\ndef number() -> int:\n    return 9\n```"
    program = extract(reply, Toy.template, "number", thought=True)
    assert getattr(program, "thought", None) == "Return the largest number known."
