"""Study "stochastic": how alike BehaveSim finds randomised algorithms, by samples of runs and by a fixed seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from behavesim.analysis.table import DISTANCE, Cell, Column, Table
from behavesim.similarity import BehaveSim
from behavesim.trajectory import Trajectory, fixed_seed, sample

from .measures import BOX

# Number of runs of an algorithm in a sample; their states at each step are compared as a distribution.
SAMPLES = 32
# Number of repetitions of each comparison, each with its own seeds; results are means over them.
SEEDS = 10
STEPS, CITIES = 100, 12
"""Steps of the descents, and cities of the routes."""

# A random algorithm: returns a trajectory drawn with the generator.
Law = Callable[[Generator], Trajectory]
# Names of a subject's four random algorithms, with each of which its first one is compared.
#
# A law is the distribution of an algorithm's trajectories.
COMPARED = ("same law, other seeds", "same law, other use of the generator", "other law", "another law")


def _descent(rng: Generator, momentum: float = 0.0, noise: float = 1.0, in_advance: bool = False) -> Trajectory:
    """Return the STEPS + 1 points of a gradient descent on a quadratic with a noisy gradient."""
    # `momentum` is the share of the last step that is kept; `noise` is the gradient's standard deviation. With
    # `in_advance` the noise has the same distribution but is drawn before the first step, in reverse order.
    drawn = rng.normal(size=(STEPS, 2))[::-1] if in_advance else None
    place, speed = np.array([1.5, -1.0]), np.zeros(2)  # any start inside the box, away from the optimum at 0
    states = [place]
    for step in range(STEPS):
        noisy = rng.normal(size=2) if drawn is None else drawn[step]
        # the gradient of x²/2 + 2y²: unequal curvatures, so that the way to the optimum is bent
        speed = momentum * speed + np.array([1.0, 4.0]) * place + noise * noisy
        # Inside the box no two points are farther apart than the measure's largest distance.
        place = np.clip(place - 0.05 * speed, -BOX, BOX)
        states.append(place)
    return Trajectory.vectors(states)


def _route(rng: Generator, among: int = 2, in_advance: bool = False) -> Trajectory:
    """Return a route that always moves to one of the `among` nearest unvisited cities, chosen at random."""
    # With `in_advance` the random numbers have the same distribution but are drawn first, in reverse order.
    places = np.random.default_rng(7).random((CITIES, 2))  # the same cities for every law and seed
    drawn = rng.random(CITIES) if in_advance else None
    route, left = [0], list(range(1, CITIES))
    while left:
        left.sort(key=lambda city: float(np.linalg.norm(places[city] - places[route[-1]])))
        chance = rng.random() if drawn is None else drawn[len(left)]
        route.append(left.pop(int(chance * min(among, len(left)))))
    return Trajectory.prefixes(route)


@dataclass(frozen=True)
class Subject:
    """Four random algorithms, and the measure by which each is compared with the first of them."""

    laws: tuple[Law, Law, Law, Law]
    """In the order of COMPARED; the first is also what all four are compared with."""
    measure: BehaveSim


SUBJECTS: Mapping[str, Subject] = {
    "noisy descent": Subject(
        (
            _descent,
            partial(_descent, in_advance=True),
            partial(_descent, momentum=0.8),
            partial(_descent, noise=3.0),
        ),
        BehaveSim(float(np.hypot(2 * BOX, 2 * BOX))),
    ),
    "random route": Subject(
        (_route, partial(_route, in_advance=True), partial(_route, among=4), partial(_route, among=11)),
        BehaveSim(CITIES),
    ),
}


@dataclass(frozen=True)
class StochasticStudy:
    """The mean similarity of four comparisons, for each subject and each way to compare."""

    rows: tuple[tuple[str, str, tuple[float, ...]], ...]
    """The subject's name, the way to compare (`32 samples` or `fixed seed`), and the means in the order of COMPARED."""

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{compared, samples, rows: [{subject, by, similarities}]}`.

        `similarities` are in the order of `compare_stochastic`; `samples` is the number of runs in a sample.
        """
        rows = [{"subject": name, "by": how, "similarities": list(values)} for name, how, values in self.rows]
        return {"compared": list(COMPARED), "samples": SAMPLES, "rows": rows}

    def tables(self) -> tuple[Table, ...]:
        """Return one table with a row for each subject and way to compare."""
        columns = (Column("algorithm"), Column("by"), *(Column(name, DISTANCE) for name in COMPARED))
        caption = (
            f"samples: {SAMPLES} runs each, states compared as distributions. Under a fixed seed the first column has "
            "equal seeds: there, the same law that uses its generator otherwise looks much like another law."
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple((name, how, *values) for name, how, values in self.rows)
        return (Table("stochastic", "similarity of stochastic algorithms", columns, rows, caption, keys=2),)


def compare_stochastic() -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Yield the rows of a StochasticStudy: each subject compared by samples, then with a fixed seed."""
    for name, subject in SUBJECTS.items():
        yield name, f"{SAMPLES} samples", _means(subject, partial(sample, samples=SAMPLES))
        yield name, "fixed seed", _means(subject, fixed_seed)


def _means(subject: Subject, observe: Callable[..., Any]) -> tuple[float, ...]:
    """Return the mean similarities of the subject's first law to each of its four laws, over SEEDS repetitions."""
    # `observe(law, seed=…)` runs a law: `fixed_seed`, or `sample` with its number of runs. The two laws get different
    # seeds, but equal ones with `fixed_seed`, whose similarities would otherwise be those of the seeds.
    other = 0 if observe is fixed_seed else 1
    values = []
    for seed in range(SEEDS):
        # Even seeds for the first law, odd ones for the four: no two repetitions share one.
        one = observe(subject.laws[0], seed=2 * seed)
        values.append([subject.measure.similarity(one, observe(law, seed=2 * seed + other)) for law in subject.laws])
    return tuple(np.mean(values, axis=0).tolist())
