"""The travelling salesman, constructively: a program chooses each next city of a closed tour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import cleandoc
from typing import Any

import numpy as np
from behavesim_tasks.grammars import TOUR
from behavesim_tasks.known import objective_of
from behavesim_tasks.places import DIGITS, clustered, filling, uniform
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Route, Solution, Split, Task, as_integer, as_permutation, ranked
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """
    Design a novel algorithm to select the next node in each step.
    Args:
        current_node: ID of the current node.
        destination_node: ID of the destination node.
        unvisited_nodes: Array of IDs of unvisited nodes.
        distance_matrix: Distance matrix of nodes.

    Return:
        ID of the next node to visit.
    """
    next_node = unvisited_nodes[0]
    return next_node
'''

TSPLIB = {
    "berlin52": """
565,575 25,185 345,750 945,685 845,655 880,660 25,230 525,1000 580,1175 650,1130 1605,620 1220,580 1465,200
1530,5 845,680 725,370 145,665 415,635 510,875 560,365 300,465 520,585 480,415 835,625 975,580 1215,245 1320,315
1250,400 660,180 410,250 420,555 575,665 1150,1160 700,580 685,595 685,610 770,610 795,645 720,635 760,650
475,960 95,260 875,920 700,500 555,815 830,485 1170,65 830,610 605,625 595,360 1340,725 1740,245
""",
    "eil51": """
37,52 49,49 52,64 20,26 40,30 21,47 17,63 31,62 52,33 51,21 42,41 31,32 5,25 12,42 36,16 52,41 27,23 17,33 13,13
57,58 62,42 42,57 16,57 8,52 7,38 27,68 30,48 43,67 58,48 58,27 37,69 38,46 46,10 61,33 62,63 63,69 32,22 45,35
59,15 5,6 10,17 21,10 5,64 30,15 39,10 32,39 25,32 25,55 48,28 56,37 30,40
""",
}
"""Two instances of TSPLIB by name, as x,y of each city. With TSPLIB's rounded distances their optima are 7542, 426."""

SIZES: dict[Split, tuple[int, ...]] = {
    "search": (50,) * 5,
    "validation": (20, 20, 50, 50, 100, 100),
    "held-out": (20,) * 3 + (50,) * 3 + (100,) * 3 + (200,) * 3,
    "shifted": (50,) * 3 + (100,) * 3,
}
"""Number of cities of each randomly drawn instance, by split; the held-out split also has the two of TSPLIB."""
OPTIMA: dict[Split, float] = {"search": 5.623624, "validation": 5.730953, "held-out": 6.820688, "shifted": 4.234803}
"""Mean length of the shortest tours of a split's instances, proved optimal by branch and cut."""
SMALLEST_GAIN = 1e-9
"""Smallest gain in length for which 2-opt exchanges two edges: less is rounding."""
PROVED = "optimal, by branch and cut"
"""How OPTIMA are known."""
SEEDS: dict[Split, int] = {"search": 2024, "validation": 2025, "held-out": 2026, "shifted": 2027}
"""Seed of numpy's legacy generator, which draws the cities of a split: its numbers never change."""
LARGE: dict[Split, tuple[int, ...]] = {"search": (200, 200), "validation": (150, 200), "held-out": (200, 300)}
"""Sizes of the maps of `tsp:large`, by split; of each there are two, one uniform and one with clusters."""
LARGE_SEEDS: dict[Split, int] = {"search": 2124, "validation": 2125, "held-out": 2126}
"""As SEEDS, for `tsp:large`."""
LARGE_BEST: dict[Split, tuple[float, ...]] = {
    "search": (10.669984, 6.719799, 10.92278, 7.873891),
    "validation": (9.442521, 6.077348, 10.926122, 5.496917),
    "held-out": (10.637483, 7.445514, 13.284282, 7.734358),
}
"""Lengths of the shortest tours known for `tsp:large`, in order."""
FOUND = "found by LKH 3, not proved"
"""How LARGE_BEST are known."""
RULES = """\
  distances, and neither the places of the cities nor the tour so far.
- `distance_matrix` is symmetric with zeros on its diagonal, and the same array in all calls for a tour; city numbers
  are its indices.
- The answer must be one of `unvisited_nodes`, as an integer: a float is refused, even 3.0."""
"""End of the rules, for any number of cities."""
UNIT = "mean tour length"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Cities:
    """One instance: the distances between all cities, a read-only (n, n) float64 array.

    `places` are (x, y) of each city, used for pictures only; None if only the distances are known.
    """

    name: str
    distances: NDArray[np.float64] = field(repr=False)
    places: tuple[tuple[float, float], ...] | None = field(default=None, repr=False)

    @classmethod
    def at(cls, name: str, coordinates: NDArray[np.float64]) -> Cities:
        """Return cities in the plane at (n, 2) coordinates, with Euclidean distances."""
        difference = coordinates[:, None, :] - coordinates[None, :, :]
        distances = np.sqrt((difference**2).sum(axis=-1))
        distances.setflags(write=False)
        return cls(name, distances, tuple((x, y) for x, y in coordinates.tolist()))


class TravellingSalesman(Task):
    """Find short closed tours through all cities, built one city at a time from city 0.

    At each step the function receives the current city, the city where the tour ends (0), the unvisited cities in
    ascending order of their distance from the current one, and the matrix of distances between all cities; it returns
    the city to visit next. The score is the mean length of the tours: the shorter the better.
    """

    kind = "constructive"
    search_size = f"{len(SIZES['search'])} instances of {SIZES['search'][0]} cities"
    shifted = "cities in clusters of about 25"
    sizes: tuple[str, ...] = ("large",)
    used_by = "BehaveSim (the paper), LLM4AD, EoH, ReEvo, MCTS-AHD: other instances"
    template = TEMPLATE
    rules = f"""\
- There are {len(SIZES["search"])} instances of {SIZES["search"][0]} cities each, drawn uniformly from the unit square.
- The function is called {SIZES["search"][0] - 2} times for a tour: for each city but the first and the last. It is told
{RULES}"""
    grammar = TOUR
    objective = Objective("minimise", OPTIMA["search"], PROVED, UNIT)
    normaliser: float = 50
    score_scale = 1.0

    def instances(self, split: Split) -> Sequence[Cities]:
        """Return the instances of a split: cities drawn uniformly from the unit square, 5 times 50 for the search.

        The held-out split also has the two of TSPLIB. The shifted one has cities in clusters.
        """
        return _instances(split)

    def in_words(self, instance: Cities, decision: int) -> str:
        """Return the chosen city as a phrase such as "city 7"."""
        return f"city {decision}"

    def choice_in_words(self, instance: Cities, before: Sequence[int], decision: int) -> str:
        """Return the chosen city with its rank and distance: "city 7, the 2nd nearest of 31 left, 0.084 away"."""
        if not before:
            return self.in_words(instance, decision)
        near = np.delete(instance.distances[before[-1]], before)
        length = instance.distances[before[-1], decision]
        rank = ranked(1 + int((near < length).sum()), "nearest")
        last = f", and {instance.distances[decision, before[0]]:.3g} back" if len(near) == 1 else ""
        return f"city {decision}, {rank} of {len(near)} left, {length:.3g} away{last}"

    def instance_name(self, instance: Cities) -> str:
        """Return the number of cities and their kind, such as "50 cities, uniform"."""
        kind, _, size = instance.name.partition("-")
        return f"{size} cities, {kind}" if size else kind

    def cost_so_far(self, instance: Cities, decisions: Sequence[int]) -> Sequence[float]:
        """Return the length of the tour up to each city; the last includes the way back."""
        length = np.cumsum([0.0, *instance.distances[decisions[:-1], decisions[1:]]])
        length[-1] += instance.distances[decisions[-1], decisions[0]]
        return [float(each) for each in length]

    def picture(self, instance: Cities) -> Route | None:
        """Return the picture of the tour; None if the cities' places are not known."""
        return None if instance.places is None else Route(instance.places)

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the optimum."""
        return Objective("minimise", OPTIMA[split], PROVED)

    def solve(self, function: Callable[..., Any], instance: Cities) -> Solution:
        """Return the tour that the function builds from city 0, (n,) int64; the last city is added without a call.

        Raises InvalidSolution if an answer is not an integer or not one of the unvisited cities.
        """
        distances = instance.distances
        offered = distances.copy()  # the function may write to its copy
        tour = [0]
        unvisited = np.arange(1, len(distances))
        while len(unvisited) > 1:
            current = tour[-1]
            unvisited = unvisited[np.argsort(distances[current, unvisited], kind="stable")]
            city = as_integer(function(current, 0, unvisited.copy(), offered), "the ID of a node, an integer")
            remaining = unvisited[unvisited != city]
            if len(remaining) == len(unvisited):
                raise InvalidSolution(f"step {len(tour)}: expected one of the unvisited nodes, got {city}")
            tour.append(city)
            unvisited = remaining
        return np.array([*tour, *unvisited], dtype=np.int64)

    def starts(self, instance: Cities, count: int) -> Sequence[Cities]:
        """Return the cities with number 0 exchanged for numbers 0, 1, 2 and so on: tours that begin at other cities."""
        return [_begun(instance, city) for city in range(min(count, len(instance.distances)))]

    def improve(self, instance: Cities, solution: Solution) -> Solution:
        """Return the tour after 2-opt: the best exchange of two edges is made until none helps."""
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

    def score(self, instance: Cities, solution: Solution) -> float:
        """Return the length of the closed tour; raises InvalidSolution if it does not visit every city once from 0."""
        tour = _checked(instance, solution)
        # fsum rounds once, so that the score is the same on every machine
        return math.fsum(instance.distances[tour, np.roll(tour, -1)].tolist())

    def trajectory(self, instance: Cities, solution: Solution) -> Trajectory:
        """Return the growing route (paper, "Partial Solutions in TSP"): state i is the first i + 1 cities.

        Raises InvalidSolution if it does not visit every city once from city 0.
        """
        return Trajectory.prefixes(_checked(instance, solution))


@cache
def _instances(split: Split) -> tuple[Cities, ...]:
    random = np.random.RandomState(SEEDS[split])
    if split == "shifted":
        return tuple(Cities.at(f"clustered-{size}", np.round(clustered(random, size), DIGITS)) for size in SIZES[split])
    drawn = [Cities.at(f"uniform-{size}", uniform(random, size)) for size in SIZES[split]]
    published = [_published(name) for name in TSPLIB] if split == "held-out" else []
    return (*drawn, *published)


@cache
def maps(seed: int, sizes: tuple[int, ...]) -> tuple[Cities, ...]:
    """Return two maps of each size, one of uniform cities and one with clusters, their coordinates rounded."""
    random = np.random.RandomState(seed)
    return tuple(
        Cities.at(f"{kind.__name__}-{size}", np.round(kind(random, size), DIGITS))
        for size in sizes
        for kind in (uniform, clustered)
    )


def _begun(cities: Cities, start: int) -> Cities:
    order = np.arange(len(cities.distances))
    order[[0, start]] = start, 0
    distances = cities.distances[np.ix_(order, order)]
    distances.setflags(write=False)
    places = None if cities.places is None else tuple(cities.places[city] for city in order)
    return Cities(f"{cities.name} from {start}", distances, places)


def _published(name: str) -> Cities:
    """Return an instance of TSPLIB by name, moved and scaled so that its longer side is 1."""
    return Cities.at(name, filling(np.array([city.split(",") for city in TSPLIB[name].split()], dtype=np.float64)))


def _checked(instance: Cities, solution: Solution) -> NDArray[np.int64]:
    """Return the tour as int64; raises InvalidSolution if it does not visit every city once from city 0."""
    cities = len(instance.distances)
    tour = as_permutation(solution, cities, f"a tour of {cities} cities")
    if tour[0] != 0:
        raise InvalidSolution(f"expected a tour from city 0, got one from city {tour[0]}")
    return tour


class LargeTravellingSalesman(TravellingSalesman):
    """The same task with maps of 200 cities, half of them with clusters."""

    description = cleandoc(TravellingSalesman.__doc__ or "")
    search_size = "4 maps of 200 cities, two of them with clusters"
    used_by = ""
    shifted = ""
    sizes = ()
    rules = f"""\
- There are 4 instances of 200 cities each: two drawn uniformly from the unit square, two with cities in clusters.
- The function is called 198 times for a tour: for each city but the first and the last. It is told
{RULES}"""
    normaliser = 200
    objective = objective_of("minimise", LARGE_BEST["search"], FOUND, UNIT)

    def instances(self, split: Split) -> Sequence[Cities]:
        """Return a uniform and a clustered map of each size of the split, in the unit square."""
        return maps(LARGE_SEEDS[split], LARGE[split])

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of LARGE_BEST."""
        return objective_of("minimise", LARGE_BEST[split], FOUND, UNIT)


task = TravellingSalesman()
large = LargeTravellingSalesman()
