"""Study "stochastic": whether algorithms that draw at random are known by their law, and not by their seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from behavesim.analysis.table import DISTANCE, Cell, Column, Table
from behavesim.similarity import BehaveSim
from behavesim.studies.optimisers import BOX
from behavesim.trajectory import Trajectory, fixed_seed, sample

SAMPLES = 32
SEEDS = 10
"""Repetitions, each with seeds of its own."""
STEPS, CITIES = 100, 12

Law = Callable[[Generator], Trajectory]
COMPARED = ("same law, other seeds", "same law, other use of the generator", "other law", "another law")


def _descent(rng: Generator, momentum: float = 0.0, noise: float = 1.0, in_advance: bool = False) -> Trajectory:
    """Gradient descent on a bowl with a noisy gradient, its noise drawn step by step or all in advance, last first."""
    drawn = rng.normal(size=(STEPS, 2))[::-1] if in_advance else None
    place, speed = np.array([1.5, -1.0]), np.zeros(2)
    states = [place]
    for step in range(STEPS):
        noisy = rng.normal(size=2) if drawn is None else drawn[step]
        speed = momentum * speed + np.array([1.0, 4.0]) * place + noise * noisy
        place = np.clip(place - 0.05 * speed, -BOX, BOX)
        states.append(place)
    return Trajectory.vectors(states)


def _route(rng: Generator, among: int = 2, in_advance: bool = False) -> Trajectory:
    """A route that goes on to one of the nearest so many cities, drawn city by city or all in advance, last first."""
    places = np.random.default_rng(7).random((CITIES, 2))
    drawn = rng.random(CITIES) if in_advance else None
    route, left = [0], list(range(1, CITIES))
    while left:
        left.sort(key=lambda city: float(np.linalg.norm(places[city] - places[route[-1]])))
        chance = rng.random() if drawn is None else drawn[len(left)]
        route.append(left.pop(int(chance * min(among, len(left)))))
    return Trajectory.prefixes(route)


@dataclass(frozen=True)
class Subject:
    """A law, the same law that uses its generator in another way, and two other laws."""

    law: Law
    same: Law
    others: tuple[Law, Law]
    measure: BehaveSim


SUBJECTS: Mapping[str, Subject] = {
    "noisy descent": Subject(
        _descent,
        partial(_descent, in_advance=True),
        (partial(_descent, momentum=0.8), partial(_descent, noise=3.0)),
        BehaveSim(float(np.hypot(2 * BOX, 2 * BOX))),
    ),
    "random route": Subject(
        _route,
        partial(_route, in_advance=True),
        (partial(_route, among=4), partial(_route, among=11)),
        BehaveSim(CITIES),
    ),
}


@dataclass(frozen=True)
class StochasticStudy:
    """Of each subject and way to compare: the mean similarity of the four comparisons over repetitions."""

    rows: tuple[tuple[str, str, tuple[float, ...]], ...]

    def document(self) -> dict[str, Any]:
        """`{compared, rows}`."""
        rows = [{"subject": name, "by": how, "similarities": list(values)} for name, how, values in self.rows]
        return {"compared": list(COMPARED), "samples": SAMPLES, "rows": rows}

    def tables(self) -> tuple[Table, ...]:
        """One table: a row a subject and way."""
        columns = (Column("algorithm"), Column("by"), *(Column(name, DISTANCE) for name in COMPARED))
        caption = (
            f"samples: {SAMPLES} runs each, states compared as distributions. Under a fixed seed the first column has "
            "equal seeds: there, the same law that uses its generator otherwise looks much like another law."
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple((name, how, *values) for name, how, values in self.rows)
        return (Table("stochastic", "similarity of stochastic algorithms", columns, rows, caption, keys=2),)


def compared() -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Each subject by samples and by a fixed seed, one after another."""
    for name, subject in SUBJECTS.items():
        yield name, f"{SAMPLES} samples", _means(subject, partial(sample, samples=SAMPLES))
        yield name, "fixed seed", _means(subject, fixed_seed)


def _means(subject: Subject, observe: Callable[..., Any]) -> tuple[float, ...]:
    """The mean over repetitions; with a fixed seed the first comparison is of equal seeds: that is its point."""
    is_fixed = observe is fixed_seed
    values = []
    for seed in range(SEEDS):
        one = observe(subject.law, seed=2 * seed)
        laws = (subject.law, subject.same, *subject.others)
        values.append([subject.measure.similarity(one, observe(law, seed=2 * seed + (not is_fixed))) for law in laws])
    return tuple(np.mean(values, axis=0).tolist())
