"""Vehicle routing with capacities, constructively: a program chooses each next customer, or the way back."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import CVRP
from behavesim_tasks.decisions import Drawn, Function, Integers, Random, Sizes
from behavesim_tasks.routes import RoutingTask, check_choice, check_routes, draw_nodes
from numpy.typing import NDArray

from behavesim.task import Solution, rank_words

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

# How the customers of each instance are drawn, and their number, by split.
SIZES: Sizes = {
    "search": (("uniform", 50),) * 5,
    "validation": (("uniform", 30),) * 2 + (("uniform", 50),) * 2,
    "held-out": (("uniform", 30),) * 2 + (("uniform", 50),) * 2 + (("uniform", 100),) * 3,
    "shifted": (("clustered", 50),) * 3 + (("clustered", 100),) * 2,
}
# Capacity of a vehicle, by the number of customers; demands are 1 to 9.
CAPACITIES = {30: 35, 50: 40, 100: 50}


@dataclass(frozen=True)
class Customers:
    """One instance; node 0 is the depot.

    `distances` are (nodes, nodes) float64, `demands` (nodes,) int64 with 0 for the depot, `places` (x, y) of each node.
    """

    distances: NDArray[np.float64] = field(repr=False)
    demands: Integers = field(repr=False)
    capacity: int
    places: tuple[tuple[float, float], ...] = field(repr=False)


class CapacitatedRouting(Drawn, RoutingTask):
    """Serve all customers from a depot by short routes; a vehicle of limited capacity drives them one after another.

    At each step the function receives the current node, the customers that still fit into the vehicle, nearest first,
    and the depot as the last choice; it returns the node to visit next. The depot ends the route, and a new one begins
    there. The vehicle also goes back when no customer fits. The score is the mean length of all routes together: the
    shorter the better.
    """

    search_size = "5 instances of 50 customers"
    used_by = "LLM4AD, ReEvo: other instances"
    shifted = "customers in clusters of about 25, the depot in a corner"
    template = TEMPLATE
    rules = """\
- There are 5 instances of 50 customers and a depot, drawn uniformly from the
  unit square. Demands are whole numbers from 1 to 9, the capacity is 40.
- `demands` and `distance_matrix` are arrays of the function's own; `demands` is made anew for each call.
- The answer must be one of `choices`, as an integer: a float is refused, even 3.0."""
    grammar = grammars.CVRP
    best_known = CVRP
    objective = CVRP.objective("minimise", "total length of routes")
    returns: ClassVar[bool] = True
    """Whether the way back to the depot counts."""

    seed, kinds = 5024, SIZES

    @staticmethod
    def draw(random: Random, *kind: Any) -> Customers:
        """Return places in the unit square of a kind and number, demands from 1 to 9."""
        places, demands, distances = draw_nodes(random, *kind)
        return Customers(distances, demands, CAPACITIES[kind[1]], tuple((x, y) for x, y in places.tolist()))

    def choice_in_words(self, instance: Customers, before: Sequence[int], decision: int) -> str:
        """Return the node `decision` with its rank and distance; of the depot, with the load served on the route.

        The distance is from the last node in `before`. If `before` is empty, the node has neither.
        """
        if not before:
            return self.in_words(instance, decision)
        away = instance.distances[before[-1]]
        route = before[max(place for place, node in enumerate(before) if node == 0) :]
        load = int(instance.demands[route].sum())
        if decision == 0:
            return f"back to the depot with {load} of {instance.capacity} served, {away[0]:.3g} away"
        fits = (instance.demands > 0) & (instance.demands <= instance.capacity - load)
        fits[list(before)] = False
        rank = rank_words(1 + int((away[fits] < away[decision]).sum()), "nearest")
        return f"customer {decision}, {rank} of {fits.sum()} that fit, {away[decision]:.3g} away"

    def instance_name(self, instance: Customers) -> str:
        """Return the number of customers."""
        return f"{len(instance.demands) - 1} customers"

    def cost_so_far(self, instance: Customers, decisions: Sequence[int]) -> Sequence[float]:
        """Return the length of the routes up to each of the visited nodes."""
        visits = np.asarray(decisions)
        legs = instance.distances[visits[:-1], visits[1:]] * (self.returns | (visits[1:] > 0))
        return [0.0, *np.cumsum(legs).tolist()]

    def solve(self, function: Function, instance: Customers) -> Solution:
        """Return the visited nodes in order, 0 first and last; raises InvalidSolution if an answer is not a choice."""
        offered, demands, room, visits = instance.distances.copy(), instance.demands.copy(), instance.capacity, [0]
        while demands.any():
            current = visits[-1]
            fitting = np.flatnonzero((demands > 0) & (demands <= room))
            near = fitting[np.argsort(instance.distances[current, fitting], kind="stable")]
            node = 0
            if len(near):
                choices = np.append(near, 0) if current else near
                answer = function(current, choices.copy(), room, demands.copy(), offered)
                node = check_choice(answer, choices, len(visits))
            room = room - int(demands[node]) if node else instance.capacity
            demands[node] = 0
            visits.append(node)
        return np.array([*visits, 0], dtype=np.int64)

    def checked(self, instance: Customers, solution: Solution) -> Integers:
        """Return the visits as int64; raises InvalidSolution where `check_routes` does."""
        return check_routes(solution, instance.demands, instance.capacity)

    def score(self, instance: Customers, solution: Solution) -> float:
        """Return the length of all routes; raises InvalidSolution for an invalid solution."""
        visits = self.checked(instance, solution)
        legs = instance.distances[visits[:-1], visits[1:]]
        return math.fsum(legs[self.returns | (visits[1:] > 0)].tolist())


task = CapacitatedRouting()
