"""Niches: clearing as programs come, against clearing by its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from behavesim.similarity import BehaveSim
from behavesim.similarity.clustering import DiverseBest, Preference
from behavesim.trajectory import Trajectory

MEASURE = BehaveSim(6.0)
Program = tuple[tuple[Trajectory, ...], Preference]


def programs(seed: int, count: int) -> list[Program]:
    """Programs on two instances; a third of them repeat a behaviour, at other lengths."""
    rng = np.random.default_rng(seed)
    made: list[Program] = []
    for number in range(count):
        pair = tuple(Trajectory.prefixes(rng.permutation(6)) for _ in range(2))
        if made and rng.random() < 0.33:
            pair = made[int(rng.integers(len(made)))][0]
        made.append((pair, (float(rng.integers(8)), int(rng.integers(20, 30)), number)))
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
    given, niches = programs(seed, 60), DiverseBest(MEASURE)
    for number, (algorithm, preference) in enumerate(given, 1):
        niches.add(algorithm, preference)
        if number in (1, 2, 7, 20, 21, 60):
            assert niches.select(radius, count) == cleared(given[:number], radius, count)


def test_the_scale_is_that_of_the_first_hundred_behaviours() -> None:
    given, niches = programs(9, 220), DiverseBest(MEASURE)
    for algorithm, preference in given:
        niches.add(algorithm, preference)
    assert niches.select(0.8, 20) == cleared(given, 0.8, 20)


def test_without_a_radius_nothing_is_measured() -> None:
    class Refusing(BehaveSim):
        def one_vs_many(self, *args: Any) -> Any:
            raise AssertionError("measured")

        matrix = one_vs_many

    niches = DiverseBest(Refusing(6.0))
    for algorithm, preference in programs(1, 30):
        niches.add(algorithm, preference)
    assert len(niches.select(0.0, 10)) == 10


def test_nothing_is_chosen_from_nothing() -> None:
    assert DiverseBest(MEASURE).select(0.3, 10) == []
