"""Niche: elites are the best of each niche, and prompts are made of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from behavesim.events import Added, Asked, Evaluated, Regrouped
from behavesim.methods.niche import ARCHIVE, ELITES
from behavesim.similarity import BehaveSim
from behavesim.similarity.niches import Niches, Preference
from behavesim.trajectory import Trajectory
from tests.methods.told import events_of, final, steps

MEASURE = BehaveSim(6.0)
Program = tuple[tuple[Trajectory, ...], Preference]


def programs(seed: int, count: int) -> list[Program]:
    """Programs on two instances; a third of them repeat a behaviour, at other lengths."""
    rng = np.random.default_rng(seed)
    made: list[Program] = []
    for ticket in range(count):
        pair = tuple(Trajectory.prefixes(rng.permutation(6)) for _ in range(2))
        if made and rng.random() < 0.33:
            pair = made[int(rng.integers(len(made)))][0]
        made.append((pair, (float(rng.integers(8)), int(rng.integers(20, 30)), ticket)))
    return made


def cleared(given: list[Program], radius: float, count: int) -> list[int]:
    """Clearing by its definition, one pair after another."""
    distinct: list[tuple[Trajectory, ...]] = []
    for algorithm, _ in given:
        if algorithm not in distinct:
            distinct.append(algorithm)
    base = distinct[:100]
    pairs = [1 - MEASURE.between(a, b) for i, a in enumerate(base) for b in base[:i]]
    median = float(np.median(pairs)) if pairs else 0.0
    kept: list[Program] = []
    for algorithm, preference in sorted(given, key=lambda program: program[1]):
        if any(algorithm == other for other, _ in kept):
            continue
        best = min(p for a, p in given if a == algorithm)
        if preference != best or len(kept) == count:
            continue
        if all(1 - MEASURE.between(algorithm, other) >= radius * median for other, _ in kept):
            kept.append((algorithm, preference))
    return [preference[2] for _, preference in kept]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("radius", "count"), [(0.3, 30), (0.9, 30), (1.2, 5), (0.0, 10)])
def test_clearing_as_it_goes_is_clearing_by_definition(seed: int, radius: float, count: int) -> None:
    given, niches = programs(seed, 60), Niches(MEASURE)
    for number, (algorithm, preference) in enumerate(given, 1):
        niches.add(algorithm, preference)
        if number in (1, 2, 7, 20, 21, 60):
            assert niches.clear(radius, count) == cleared(given[:number], radius, count)


def test_the_scale_is_that_of_the_first_hundred_behaviours() -> None:
    given, niches = programs(9, 220), Niches(MEASURE)
    for algorithm, preference in given:
        niches.add(algorithm, preference)
    assert niches.clear(0.8, 20) == cleared(given, 0.8, 20)


def test_without_a_radius_nothing_is_measured() -> None:
    class Refusing(BehaveSim):
        def one_vs_many(self, *args: Any) -> Any:
            raise AssertionError("measured")

        matrix = one_vs_many

    niches = Niches(Refusing(6.0))
    for algorithm, preference in programs(1, 30):
        niches.add(algorithm, preference)
    assert len(niches.clear(0.0, 10)) == 10


def test_nothing_is_chosen_from_nothing() -> None:
    assert Niches(MEASURE).clear(0.3, 10) == []


async def test_elites_are_renewed_after_the_first_programs_and_every_few_from_then_on() -> None:
    renewed = [s.registered for s, e in steps(await events_of(method="niche", n_init=40)) if isinstance(e, Regrouped)]
    assert renewed == list(range(40, 200, 10))  # and not at the end, where nothing more is asked


async def test_prompts_show_two_different_elites_from_worse_to_better_and_are_asked_twice() -> None:
    asked: list[Asked] = []
    for state, event in steps(await events_of(method="niche", n_init=40)):
        if not isinstance(event, Asked):
            continue
        if event.candidate < 40:
            assert event.prompt.operator == "template"
            continue
        asked.append(event)
        if event.candidate % 2 == 0:
            worse, better = event.parents
            assert worse != better and {worse, better} <= set(state.groups[ELITES].members)
            assert state.members[worse].utility <= state.members[better].utility
    assert all(a.parents == b.parents for a, b in zip(asked[::2], asked[1::2], strict=True))


async def test_better_elites_are_parents_more_often() -> None:
    drawn: Counter[int] = Counter()
    for state, event in steps(await events_of(method="niche", n_init=40, budget=800, niche_radius=0.0, elites=10)):
        if isinstance(event, Asked) and event.candidate >= 40 and event.candidate % 2 == 0:
            drawn.update(state.groups[ELITES].members.index(parent) for parent in event.parents)
    assert drawn[0] > drawn[3] > drawn[7]


async def test_every_feasible_program_stays_in_the_archive() -> None:
    events = await events_of(method="niche", n_init=40)
    feasible = sorted(e.candidate for e in events if isinstance(e, Evaluated) and e.candidate >= 0)
    assert final(events).groups[ARCHIVE].members == feasible


async def test_best_of_n_shows_the_template_alone_and_keeps_what_is_feasible() -> None:
    events = await events_of(method="best-of-n")
    asked = [event for event in events if isinstance(event, Asked)]
    assert len(asked) == 200
    assert {(event.parents, event.prompt) for event in asked} == {((-1,), asked[0].prompt)}
    assert asked[0].prompt.operator == "template"
    assert {e.group for e in events if isinstance(e, Added)} == {"archive"}
