"""Closed tours through cities: what prompts and pages say of them, and their improvement by 2-opt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from behavesim_tasks.decisions import DecisionTask

from behavesim.task import Route, Solution, ranked

SMALLEST_GAIN = 1e-9
"""Smallest gain in length for which 2-opt exchanges two edges: less is rounding."""


class TourTask(DecisionTask):
    """A task whose decisions are the cities of a tour in order.

    An instance is a frozen dataclass with a `name` such as "uniform-50", with `distances`, (n, n), and with `places`,
    (x, y) of each city or None.
    """

    kind = "constructive"

    def in_words(self, instance: Any, decision: int) -> str:
        """Return the city `decision` as a phrase such as "city 7"."""
        return f"city {decision}"

    def choice_in_words(self, instance: Any, before: Sequence[int], decision: int) -> str:
        """Return the city `decision` with its rank and distance: "city 7, the 2nd nearest of 31 left, 0.084 away".

        The distance is from the last city in `before`. The first city of a tour has neither: "city 0".
        """
        if not before:
            return self.in_words(instance, decision)
        near = np.delete(instance.distances[before[-1]], before)
        length = instance.distances[before[-1], decision]
        rank = ranked(1 + int((near < length).sum()), "nearest")
        last = f", and {instance.distances[decision, before[0]]:.3g} back" if len(near) == 1 else ""
        return f"city {decision}, {rank} of {len(near)} left, {length:.3g} away{last}"

    def instance_name(self, instance: Any) -> str:
        """Return the number of cities and their kind, such as "50 cities, uniform"; a name without "-" as it is."""
        kind, _, size = instance.name.partition("-")
        return f"{size} cities, {kind}" if size else kind

    def cost_so_far(self, instance: Any, decisions: Sequence[int]) -> Sequence[float]:
        """Return the length of the tour up to each city; the last includes the way back."""
        length = np.cumsum([0.0, *instance.distances[decisions[:-1], decisions[1:]]])
        length[-1] += instance.distances[decisions[-1], decisions[0]]
        return [float(each) for each in length]

    def picture(self, instance: Any) -> Route | None:
        """Return the picture of the tour; None if the cities' places are not known."""
        return None if instance.places is None else Route(instance.places)

    def starts(self, instance: Any, count: int) -> Sequence[Any]:
        """Return up to `count` maps with the numbers of city 0 and of city 0, 1, 2, … exchanged: tours begin there."""
        return [_begun(instance, city) for city in range(min(count, len(instance.distances)))]

    def improve(self, instance: Any, solution: Solution) -> Solution:
        """Return the tour after 2-opt: the best exchange of two edges is made until none gains SMALLEST_GAIN."""
        tour, distances = np.asarray(solution).copy(), instance.distances
        while True:
            following = np.roll(tour, -1)
            edges = distances[tour, following]
            gains = edges[:, None] + edges - distances[np.ix_(tour, tour)] - distances[np.ix_(following, following)]
            np.fill_diagonal(gains, 0)
            first, last = sorted(np.unravel_index(gains.argmax(), gains.shape))
            if gains[first, last] < SMALLEST_GAIN:
                return tour
            tour[first + 1 : last + 1] = tour[first + 1 : last + 1][::-1]


def _begun(cities: Any, start: int) -> Any:
    """Return an instance in which the cities 0 and `start` have changed numbers."""
    order = np.arange(len(cities.distances))
    order[[0, start]] = start, 0
    distances = cities.distances[np.ix_(order, order)]
    distances.setflags(write=False)
    places = None if cities.places is None else tuple(cities.places[city] for city in order)
    return replace(cities, name=f"{cities.name} from {start}", distances=distances, places=places)
