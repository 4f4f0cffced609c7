"""Places in the unit square, closed tours through them, and routes of vehicles from a depot, node 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from behavesim_tasks.decisions import DecisionTask, Integers, Random
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Route, Solution, as_integer, as_integers, rank_words

# (x, y) of each place, (places, 2) float64.
Places = NDArray[np.float64]
# Mean number of places in a cluster.
A_CLUSTER = 25
# Standard deviation of a cluster's places around its centre, in each direction, before the map is scaled.
SPREAD = 0.05
# Decimals of rounded coordinates; rounding makes a map with clusters the same on every machine.
DIGITS = 6


def draw_clusters(random: Random, size: int) -> Places:
    """Return `size` places around uniform centres, one for A_CLUSTER places, at least two; scaled and rounded."""
    centres = random.rand(max(2, size // A_CLUSTER), 2)
    places = scale_to_square(centres[random.randint(len(centres), size=size)] + SPREAD * random.randn(size, 2))
    return np.round(places, DIGITS)


def draw_places(random: Random, kind: str, size: int) -> Places:
    """Return `size` places of a kind, "uniform" or "clustered", in the unit square."""
    return random.rand(size, 2) if kind == "uniform" else draw_clusters(random, size)


def scale_to_square(places: NDArray[Any]) -> Places:
    """Return places moved and scaled so that the longer side of their map is 1."""
    corner = places.min(axis=0)
    scaled: Places = (places - corner) / (places.max(axis=0) - corner).max()
    return scaled


# Smallest gain in length for which 2-opt exchanges two edges: less is rounding.
SMALLEST_GAIN = 1e-9


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
        rank = rank_words(1 + int((near < length).sum()), "nearest")
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
        return [_begin_at(instance, city) for city in range(min(count, len(instance.distances)))]

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


def _begin_at(cities: Any, start: int) -> Any:
    """Return an instance in which the cities 0 and `start` have changed numbers."""
    order = np.arange(len(cities.distances))
    order[[0, start]] = start, 0
    distances = cities.distances[np.ix_(order, order)]
    distances.setflags(write=False)
    places = None if cities.places is None else tuple(cities.places[city] for city in order)
    return replace(cities, name=f"{cities.name} from {start}", distances=distances, places=places)


class RoutingTask(DecisionTask):
    """A task whose decisions are the nodes in the order of the visits, from the depot, 0, back to the depot.

    An instance has `places`, (x, y) of each node.
    """

    kind = "constructive"
    normaliser = 100

    def in_words(self, instance: Any, decision: int) -> str:
        """Return the node `decision` as a phrase such as "customer 7", or "back to the depot" for 0."""
        return f"customer {decision}" if decision else "back to the depot"

    def picture(self, instance: Any) -> Route:
        """Return a picture that draws the visits as one line through the nodes' places."""
        return Route(instance.places)


def draw_nodes(random: Random, kind: str, size: int) -> tuple[NDArray[np.float64], Integers, NDArray[np.float64]]:
    """Return places of a depot and `size` customers in the unit square, demands from 1 to 9, and all distances.

    All places are uniform if `kind` is "uniform". Else the customers are in clusters, and the depot is at (0, 0).
    """
    places = random.rand(size + 1, 2) if kind == "uniform" else np.vstack([np.zeros(2), draw_clusters(random, size)])
    demands = np.append(0, random.randint(1, 10, size=size)).astype(np.int64)
    return places, demands, np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=-1))


def check_choice(answer: Any, choices: Integers, step: int) -> int:
    """Return a program's answer as an int; raises InvalidSolution if it is no integer or none of the choices.

    `step` is the number of decisions before it, for the message.
    """
    node = as_integer(answer, "the ID of a node, an integer")
    if node not in choices:
        raise InvalidSolution(f"step {step}: expected one of the choices, got {node}")
    return node


def check_routes(solution: Solution, demands: Integers, capacity: int) -> Integers:
    """Return the visits as int64: from the depot to the depot, with every customer once.

    Raises InvalidSolution for anything else, an empty route, and one whose `demands` are more than `capacity`.
    """
    nodes = len(demands)
    visits = as_integers(solution, nodes, "visits of nodes")
    if len(visits) < 2 or visits[0] != 0 or visits[-1] != 0 or not (visits[1:] | visits[:-1]).all():
        raise InvalidSolution("expected routes that begin and end at the depot, 0, none of them empty")
    if not np.array_equal(np.sort(visits[visits > 0]), np.arange(1, nodes)):
        raise InvalidSolution(f"expected every customer of 1…{nodes - 1} once")
    fullest = int(np.bincount((visits == 0).cumsum(), weights=demands[visits]).max())
    if fullest > capacity:
        raise InvalidSolution(f"expected routes that take up to {capacity}, one takes {fullest}")
    return visits
