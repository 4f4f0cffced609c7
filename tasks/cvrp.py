"""Vehicle routing with capacities, constructively: a program chooses each next customer, or the way back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from behavesim_tasks.known import objective_of
from behavesim_tasks.routes import checked, drawn
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Route, Solution, Split, Task, as_integer, ranked
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def select_next_node(
    current_node: int, choices: np.ndarray, room: int, demands: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """
    Returns where the vehicle drives next.
    Args:
        current_node: ID of the current node; 0 is the depot.
        choices: IDs of the customers that still fit into the vehicle, nearest first; the depot, 0, comes last if the
            vehicle is not there.
        room: Capacity that is left in the vehicle.
        demands: Demand of every node; 0 for the depot and for customers that were visited.
        distance_matrix: Distance matrix of nodes.

    Return:
        ID of the next node to visit; 0 ends the route.
    """
    return choices[0]
'''

GRAMMAR = """
near: cost = distance_matrix[current_node, choices]
home: vector = distance_matrix[choices, 0]
here: scalar = distance_matrix[current_node, 0]
demand: vector = demands[choices] / max(room, 1)
open: nodes = np.flatnonzero(demands)
between: matrix = distance_matrix[np.ix_(choices, open)]
others: matrix = between + 9 * (choices[:, None] == open)
isolation: vector = others.min(axis=1, initial=9)
crowd: vector = np.exp(-5 * between).sum(axis=1)
back: vector = 1.0 * (choices == 0)
full: scalar = 1 - room / (room + demands.sum())

cost = near | near | cost + number * vector | cost - number * vector | cost + number * vector * vector
cost = cost + number * back | cost - number * home | cost - number * demand | cost - number * isolation
vector = demand | home | isolation | crowd | near | home - here | near + home - here | back * scalar | -demand
vector = vector + number * vector | vector - number * vector | vector * vector | scalar * vector | vector ** 2
vector = np.minimum(vector, vector) | np.maximum(vector, vector) | np.where(vector > scalar, vector, vector)
scalar = number | here | full | vector.mean() | vector.min() | scalar * scalar

score: cost
return choices[np.argmin(score)]
"""
"""Grammar of the offline proposer: the distance to each choice, the way home, demands, and customers around."""

SIZES: dict[Split, tuple[int, ...]] = {
    "search": (50,) * 5,
    "validation": (30, 30, 50, 50),
    "held-out": (30,) * 2 + (50,) * 2 + (100,) * 3,
    "shifted": (50,) * 3 + (100,) * 2,
}
"""Number of customers of each instance, by split."""
CAPACITIES = {30: 35, 50: 40, 100: 50}
"""Capacity of a vehicle, by the number of customers; demands are 1 to 9."""
SEEDS: dict[Split, int] = {"search": 5024, "validation": 5025, "held-out": 5026, "shifted": 5027}
"""Seed of numpy's legacy generator, which draws the customers of a split: its numbers never change."""
BEST: dict[Split, tuple[float, ...]] = {
    "search": (10.663235, 9.184652, 13.569320, 9.721661, 10.108990),
    "validation": (7.468346, 6.838141, 10.844177, 9.026552),
    "held-out": (7.355152, 8.024628, 9.883184, 11.182084, 13.300451, 14.035348, 15.182789),
    "shifted": (13.244063, 11.348876, 11.658254, 15.712956, 17.053386),
}
"""Total length of the shortest routes known on each instance, in order."""
FOUND = "found by PyVRP 0.14 in 3000 iterations, not proved"
"""How BEST are known."""
UNIT = "total length of routes"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Customers:
    """One instance; node 0 is the depot.

    `distances` are (nodes, nodes) float64, `demands` (nodes,) int64 with 0 for the depot, `places` (x, y) of each node.
    """

    distances: NDArray[np.float64] = field(repr=False)
    demands: NDArray[np.int64] = field(repr=False)
    capacity: int
    places: tuple[tuple[float, float], ...] = field(repr=False)


class CapacitatedRouting(Task):
    """Serve all customers from a depot by short routes; a vehicle of limited capacity drives them one after another.

    At each step the function receives the current node, the customers that still fit into the vehicle, nearest first,
    and the depot as the last choice; it returns the node to visit next. The depot ends the route, and a new one begins
    there. The vehicle also goes back when no customer fits. The score is the mean length of all routes together: the
    shorter the better.
    """

    kind = "constructive"
    search_size = f"{len(SIZES['search'])} instances of {SIZES['search'][0]} customers"
    used_by = "LLM4AD, ReEvo: other instances"
    shifted = "customers in clusters of about 25, the depot in a corner"
    template = TEMPLATE
    rules = f"""\
- There are {len(SIZES["search"])} instances of {SIZES["search"][0]} customers and a depot, drawn uniformly from the
  unit square. Demands are whole numbers from 1 to 9, the capacity is {CAPACITIES[SIZES["search"][0]]}.
- `demands` and `distance_matrix` are arrays of the function's own; `demands` is made anew for each call.
- The answer must be one of `choices`, as an integer: a float is refused, even 3.0."""
    grammar = GRAMMAR
    normaliser = 100
    score_scale = 1.0
    objective = objective_of("minimise", BEST["search"], FOUND, UNIT)
    returns: ClassVar[bool] = True
    """Whether the way back to the depot counts."""

    def instances(self, split: Split) -> Sequence[Customers]:
        """Return the instances of a split: places uniform in the unit square, demands from 1 to 9."""
        random = np.random.RandomState(SEEDS[split])
        return [_drawn(random, size, split == "shifted") for size in SIZES[split]]

    def in_words(self, instance: Customers, decision: int) -> str:
        """Return the chosen node as a phrase such as "customer 7"."""
        return f"customer {decision}" if decision else "back to the depot"

    def choice_in_words(self, instance: Customers, before: Sequence[int], decision: int) -> str:
        """Return the chosen node with its rank and distance, and the load so far if it is the depot."""
        if not before:
            return self.in_words(instance, decision)
        away = instance.distances[before[-1]]
        route = before[max(place for place, node in enumerate(before) if node == 0) :]
        load = int(instance.demands[route].sum())
        if decision == 0:
            return f"back to the depot with {load} of {instance.capacity} served, {away[0]:.3g} away"
        fits = (instance.demands > 0) & (instance.demands <= instance.capacity - load)
        fits[list(before)] = False
        rank = ranked(1 + int((away[fits] < away[decision]).sum()), "nearest")
        return f"customer {decision}, {rank} of {fits.sum()} that fit, {away[decision]:.3g} away"

    def instance_name(self, instance: Customers) -> str:
        """Return the number of customers."""
        return f"{len(instance.demands) - 1} customers"

    def cost_so_far(self, instance: Customers, decisions: Sequence[int]) -> Sequence[float]:
        """Return the length of the routes up to each visit."""
        visits = np.asarray(decisions)
        legs = instance.distances[visits[:-1], visits[1:]] * (self.returns | (visits[1:] > 0))
        return [0.0, *np.cumsum(legs).tolist()]

    def picture(self, instance: Customers) -> Route:
        """Return the picture of the routes."""
        return Route(instance.places)

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of BEST."""
        return objective_of("minimise", BEST[split], FOUND, UNIT)

    def solve(self, function: Callable[..., Any], instance: Customers) -> Solution:
        """Return the nodes in the order of the visits, int64: it begins at the depot, 0, and comes back to it.

        Raises InvalidSolution if an answer is not an integer or not one of the choices.
        """
        offered, demands, room, visits = instance.distances.copy(), instance.demands.copy(), instance.capacity, [0]
        while demands.any():
            current = visits[-1]
            fitting = np.flatnonzero((demands > 0) & (demands <= room))
            near = fitting[np.argsort(instance.distances[current, fitting], kind="stable")]
            node = 0
            if len(near):
                choices = np.append(near, 0) if current else near
                answer = function(current, choices.copy(), room, demands.copy(), offered)
                node = as_integer(answer, "the ID of a node, an integer")
                if node not in choices:
                    raise InvalidSolution(f"step {len(visits)}: expected one of the choices, got {node}")
            room = room - int(demands[node]) if node else instance.capacity
            demands[node] = 0
            visits.append(node)
        return np.array([*visits, 0], dtype=np.int64)

    def score(self, instance: Customers, solution: Solution) -> float:
        """Return the length of all routes; raises InvalidSolution if they do not serve every customer once and fit."""
        visits = checked(solution, instance.demands, instance.capacity)
        legs = instance.distances[visits[:-1], visits[1:]]
        return math.fsum(legs[self.returns | (visits[1:] > 0)].tolist())

    def trajectory(self, instance: Customers, solution: Solution) -> Trajectory:
        """Return the growing routes: state i is the first i + 1 nodes visited; raises InvalidSolution as `score`."""
        return Trajectory.prefixes(checked(solution, instance.demands, instance.capacity))


def _drawn(random: np.random.RandomState, size: int, in_clusters: bool = False) -> Customers:
    places, demands, distances = drawn(random, size, in_clusters)
    return Customers(distances, demands, CAPACITIES[size], tuple((x, y) for x, y in places.tolist()))


task = CapacitatedRouting()
