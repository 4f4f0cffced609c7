"""Study "stochastic": are randomised algorithms compared by their distribution and not by their seed?"""

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
"""Number of repetitions, each with its own seeds."""
STEPS, CITIES = 100, 12

Law = Callable[[Generator], Trajectory]
COMPARED = ("same law, other seeds", "same law, other use of the generator", "other law", "another law")


def _descent(rng: Generator, momentum: float = 0.0, noise: float = 1.0, in_advance: bool = False) -> Trajectory:
    """Gradient descent on a quadratic with a noisy gradient.

    With `in_advance` the noise has the same distribution but is drawn before the first step, in reverse order.
    """
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
    """Return a route that moves to one of the `among` nearest cities, chosen at random.

    With `in_advance` the random numbers have the same distribution but are drawn first, in reverse order.
    """
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
    """An algorithm, one with the same distribution that uses its generator differently, and two with other ones."""

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
    """The mean similarity of four comparisons, for each subject and each way to compare."""

    rows: tuple[tuple[str, str, tuple[float, ...]], ...]

    def document(self) -> dict[str, Any]:
        """`{compared, rows}`."""
        rows = [{"subject": name, "by": how, "similarities": list(values)} for name, how, values in self.rows]
        return {"compared": list(COMPARED), "samples": SAMPLES, "rows": rows}

    def tables(self) -> tuple[Table, ...]:
        """One table with a row for each subject and way to compare."""
        columns = (Column("algorithm"), Column("by"), *(Column(name, DISTANCE) for name in COMPARED))
        caption = (
            f"samples: {SAMPLES} runs each, states compared as distributions. Under a fixed seed the first column has "
            "equal seeds: there, the same law that uses its generator otherwise looks much like another law."
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple((name, how, *values) for name, how, values in self.rows)
        return (Table("stochastic", "similarity of stochastic algorithms", columns, rows, caption, keys=2),)


def compared() -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Yield the means of each subject, compared by samples and with a fixed seed."""
    for name, subject in SUBJECTS.items():
        yield name, f"{SAMPLES} samples", _means(subject, partial(sample, samples=SAMPLES))
        yield name, "fixed seed", _means(subject, fixed_seed)


def _means(subject: Subject, observe: Callable[..., Any]) -> tuple[float, ...]:
    """Average the four comparisons over repetitions. With a fixed seed, the first comparison has equal seeds."""
    is_fixed = observe is fixed_seed
    values = []
    for seed in range(SEEDS):
        one = observe(subject.law, seed=2 * seed)
        laws = (subject.law, subject.same, *subject.others)
        values.append([subject.measure.similarity(one, observe(law, seed=2 * seed + (not is_fixed))) for law in laws])
    return tuple(np.mean(values, axis=0).tolist())
