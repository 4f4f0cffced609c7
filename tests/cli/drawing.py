"""A task whose solutions are drawn at random: the program says how likely the next city is, three tours are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

import behavesim as bs


class Drawing(bs.Task):
    """Draw short tours through eight cities: the next city is drawn in proportion to what the function returns."""

    template = "def weight(distance: float, left: int) -> float:\n    return 1.0\n"
    objective = bs.Objective("minimise")
    normaliser = 8
    timeout_s = 20.0

    def instances(self, split: bs.Split) -> list[Any]:
        seed = ["search", "validation", "held-out"].index(split)
        return [np.random.default_rng([seed, instance]).random((8, 2)) for instance in range(2)]

    def solve(self, function: Any, instance: Any) -> Any:
        return np.array([self._tour(function, instance, np.random.default_rng(run)) for run in range(3)])

    def _tour(self, function: Any, cities: Any, rng: np.random.Generator) -> list[int]:
        tour, left = [0], list(range(1, len(cities)))
        while left:
            distances = np.linalg.norm(cities[left] - cities[tour[-1]], axis=1)
            chances = np.array([abs(float(function(float(distance), len(left)))) + 1e-9 for distance in distances])
            tour.append(left.pop(int(rng.choice(len(left), p=chances / chances.sum()))))
        return tour

    def score(self, instance: Any, solution: Any) -> float:
        if solution.shape != (3, 8) or not (np.sort(solution, axis=1) == np.arange(8)).all():
            raise bs.InvalidSolution("three tours through all cities were expected")
        legs = instance[solution] - instance[np.roll(solution, 1, axis=1)]
        return float(np.linalg.norm(legs, axis=2).sum(axis=1).mean())

    def trajectory(self, instance: Any, solution: Any) -> bs.Samples:
        return bs.Samples(bs.Trajectory.prefixes(tour) for tour in solution)


task = Drawing()
