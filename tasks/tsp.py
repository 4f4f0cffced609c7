"""The travelling salesman, constructively: a program chooses each next city of a closed tour."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import Any

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import TSP, TSP_LARGE
from behavesim_tasks.decisions import Drawn, Function, Integers, Random, Sizes
from behavesim_tasks.routes import DIGITS, TourTask, draw_places, scale_to_square
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Solution, Split, as_integer, as_permutation

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

# Two instances of TSPLIB by name, as x,y of each city. With TSPLIB's rounded distances their optima are 7542, 426.
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

# How the cities of each map are drawn, and their number, by split; the held-out split also has the two of TSPLIB.
SIZES: Sizes = {
    "search": (("uniform", 50),) * 5,
    "validation": (("uniform", 20),) * 2 + (("uniform", 50),) * 2 + (("uniform", 100),) * 2,
    "held-out": (
        *((("uniform", 20),) * 3 + (("uniform", 50),) * 3 + (("uniform", 100),) * 3 + (("uniform", 200),) * 3),
        *(("published", "berlin52"), ("published", "eil51")),
    ),
    "shifted": (("clustered", 50),) * 3 + (("clustered", 100),) * 3,
}
# Numbers of cities of `tsp:large`, by split; of each there are two maps, one uniform and one with clusters.
LARGE: dict[Split, tuple[int, ...]] = {"search": (200, 200), "validation": (150, 200), "held-out": (200, 300)}
# What scores are numbers of.
UNIT = "mean tour length"
# End of the rules, for any number of cities.
RULES = """\
for each city but the first and the last. It is told
  distances, and neither the places of the cities nor the tour so far.
- `distance_matrix` is symmetric with zeros on its diagonal, and the same array in all calls for a tour; city numbers
  are its indices.
- The answer must be one of `unvisited_nodes`, as an integer: a float is refused, even 3.0."""


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


class TravellingSalesman(Drawn, TourTask):
    """Find short closed tours through all cities, built one city at a time from city 0.

    At each step the function receives the current city, the city where the tour ends (0), the unvisited cities in
    ascending order of their distance from the current one, and the matrix of distances between all cities; it returns
    the city to visit next. The score is the mean length of the tours: the shorter the better.
    """

    search_size = "5 instances of 50 cities"
    shifted = "cities in clusters of about 25"
    sizes: tuple[str, ...] = ("large",)
    used_by = "BehaveSim (the paper), LLM4AD, EoH, ReEvo, MCTS-AHD: other instances"
    template = TEMPLATE
    rules = f"""\
- There are 5 instances of 50 cities each, drawn uniformly from the unit square.
- The function is called 48 times for a tour: {RULES}"""
    grammar = grammars.TSP
    seed, kinds = 2024, SIZES
    best_known = TSP
    objective = TSP.objective("minimise", UNIT)
    normaliser: float = 50
    apart = False  # backwards is the one other order of equal length, and each call would send all distances

    @staticmethod
    def draw(random: Random, *kind: Any) -> Cities:
        """Return a map: "uniform" or "clustered" and a number of cities, or "published" and a name of TSPLIB."""
        if kind[0] == "published":
            return _read_published(kind[1])
        return Cities.at("{}-{}".format(*kind), draw_places(random, *kind))

    def solve(self, function: Function, instance: Cities) -> Solution:
        """Return the tour that the function builds from city 0, (n,) int64; the last city is added without a call.

        Raises InvalidSolution if an answer is not an integer or not one of the unvisited cities.
        """
        distances = instance.distances
        # the function may write to its copy; one in another process has its own, and read-only ones are sent once
        offered = distances if self.stateless else distances.copy()
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

    def checked(self, instance: Cities, solution: Solution) -> Integers:
        """Return the tour as int64; raises InvalidSolution if it does not visit every city once from city 0."""
        cities = len(instance.distances)
        tour = as_permutation(solution, cities, f"a tour of {cities} cities")
        if tour[0] != 0:
            raise InvalidSolution(f"expected a tour from city 0, got one from city {tour[0]}")
        return tour

    def score(self, instance: Cities, solution: Solution) -> float:
        """Return the length of the closed tour; raises InvalidSolution for an invalid solution."""
        tour = self.checked(instance, solution)
        # fsum rounds once, so that the score is the same on every machine
        return math.fsum(instance.distances[tour, np.roll(tour, -1)].tolist())


def _read_published(name: str) -> Cities:
    """Return an instance of TSPLIB by name, moved and scaled so that its longer side is 1."""
    return Cities.at(
        name, scale_to_square(np.array([city.split(",") for city in TSPLIB[name].split()], dtype=np.float64))
    )


def both_kinds(numbers: Mapping[Split, Sequence[int]]) -> Sizes:
    """Return for each split a map of uniform cities and one with clusters for each of its numbers of cities."""
    return {
        split: [(kind, number) for number in numbers[split] for kind in ("uniform", "clustered")] for split in numbers
    }


class LargeTravellingSalesman(TravellingSalesman):
    """The same task with maps of 200 cities, half of them with clusters."""

    description = cleandoc(TravellingSalesman.__doc__ or "")
    search_size = "4 maps of 200 cities, two of them with clusters"
    used_by = ""
    shifted = ""
    sizes = ()
    rules = f"""\
- There are 4 instances of 200 cities each: two drawn uniformly from the unit square, two with cities in clusters.
- The function is called 198 times for a tour: {RULES}"""
    normaliser = 200
    best_known = TSP_LARGE
    objective = TSP_LARGE.objective("minimise", UNIT)

    seed, kinds = 2124, both_kinds(LARGE)

    @staticmethod
    def draw(random: Random, *kind: Any) -> Cities:
        """Return a map of a kind and a number of cities, whose places are rounded."""
        return Cities.at("{}-{}".format(*kind), np.round(draw_places(random, *kind), DIGITS))


task = TravellingSalesman()
large = LargeTravellingSalesman()
