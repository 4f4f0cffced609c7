"""Vehicle routing with time windows, constructively: a program chooses each next customer, or the way back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from behavesim_tasks.known import objective_of
from behavesim_tasks.routes import checked, drawn
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Route, Solution, Split, Task, as_integer
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def select_next_node(
    current_node: int,
    choices: np.ndarray,
    room: int,
    time: float,
    demands: np.ndarray,
    windows: np.ndarray,
    distance_matrix: np.ndarray,
) -> int:
    """
    Returns where the vehicle drives next.
    Args:
        current_node: ID of the current node; 0 is the depot.
        choices: IDs of the customers that fit into the vehicle and can be served in time, nearest first; the depot, 0,
            comes last if the vehicle is not there.
        room: Capacity that is left in the vehicle.
        time: Time at which it leaves the current node; a unit of distance takes a unit of time.
        demands: Demand of every node; 0 for the depot and for customers that were visited.
        windows: When service of each node may begin, and when it must have begun, shape (nodes, 2).
        distance_matrix: Distance matrix of nodes.

    Return:
        ID of the next node to visit; 0 ends the route.
    """
    begins = np.maximum(time + distance_matrix[current_node, choices], windows[choices, 0])
    return choices[np.argmin(begins)]
'''

GRAMMAR = """
near: cost = distance_matrix[current_node, choices]
home: vector = distance_matrix[choices, 0]
arrival: vector = time + near
begins: vector = np.maximum(arrival, windows[choices, 0])
wait: vector = begins - arrival
slack: vector = windows[choices, 1] - begins
due: vector = windows[choices, 1]
demand: vector = demands[choices] / max(room, 1)
back: vector = 1.0 * (choices == 0)
open: nodes = np.flatnonzero(demands)
others: matrix = distance_matrix[np.ix_(choices, open)] + 9 * (choices[:, None] == open)
isolation: vector = others.min(axis=1, initial=9)
reachable: vector = (begins[:, None] + others <= windows[open, 1]).mean(axis=1) if len(open) else back

cost = near + wait | near + number * wait + number * slack | cost + number * vector | cost - number * vector
cost = cost + number * back | cost - number * home | near + number * wait | begins - time
cost = cost + number * vector * vector
vector = demand | home | isolation | wait | slack | due | reachable | near | slack / (due + 0.01) | vector * vector
vector = vector + number * vector | vector - number * vector | scalar * vector | np.minimum(vector, vector)
vector = np.maximum(vector, vector) | np.where(vector > scalar, vector, vector) | np.exp(-np.abs(vector))
scalar = number | time | vector.mean() | vector.min() | scalar * scalar

score: cost
return choices[np.argmin(score)]
"""
"""Grammar of the offline proposer: distance, waiting and slack of each choice, and customers around it."""

SIZES: dict[Split, tuple[int, ...]] = {
    "search": (50,) * 5,
    "validation": (25, 25, 50, 50),
    "held-out": (25,) * 2 + (50,) * 3 + (100,) * 2,
}
"""Number of customers of each instance, by split."""
CAPACITY = 60
"""Capacity of a vehicle; demands are 1 to 9."""
DAY = 5.0
"""When every vehicle must be back at the depot."""
WIDTHS = (0.5, 1.0, 2.0)
"""Lengths of the windows, which customers are drawn from."""
SERVICE = 0.1
"""Time that a vehicle stays with a customer."""
SEEDS: dict[Split, int] = {"search": 12024, "validation": 12025, "held-out": 12026}
"""Seed of numpy's legacy generator, which draws the customers of a split: its numbers never change."""
BEST: dict[Split, tuple[float, ...]] = {
    "search": (11.739861, 11.281858, 11.191992, 10.643509, 9.238106),
    "validation": (7.416797, 7.813011, 12.110371, 12.049834),
    "held-out": (6.852426, 6.953496, 10.595941, 13.148528, 12.917283, 14.991196, 18.734018),
}
"""Total length of the shortest routes known on each instance, in order."""
FOUND = "found by PyVRP 0.14 in 3000 iterations, not proved"
"""How BEST are known."""
UNIT = "total length of routes"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Customers:
    """One instance; node 0 is the depot.

    `distances` are (nodes, nodes) float64, `demands` (nodes,) int64, `windows` (nodes, 2) float64, `places` (x, y).
    """

    distances: NDArray[np.float64] = field(repr=False)
    demands: NDArray[np.int64] = field(repr=False)
    windows: NDArray[np.float64] = field(repr=False)
    places: tuple[tuple[float, float], ...] = field(repr=False)

    def leaves(self, time: float, current: int, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return when a vehicle that is at `current` at a time could leave each of the nodes after serving it.

        It is infinite where service could not begin in time, or the vehicle would not be back by the end of the day.
        """
        begins = np.maximum(time + self.distances[current, nodes], self.windows[nodes, 0])
        leaves = begins + SERVICE
        in_time = (begins <= self.windows[nodes, 1]) & (leaves + self.distances[nodes, 0] <= DAY)
        return np.where(in_time, leaves, np.inf)


class RoutingWithTimeWindows(Task):
    """Serve all customers within their time windows by short routes from a depot, one vehicle after another.

    At each step the function receives the current node and time, the customers that fit into the vehicle and can be
    served in time, nearest first, and the depot as the last choice; it returns the node to visit next. A vehicle that
    comes early waits. The depot ends the route, and a new vehicle begins there at time 0. The score is the mean length
    of all routes together: the shorter the better.
    """

    kind = "constructive"
    search_size = f"{len(SIZES['search'])} instances of {SIZES['search'][0]} customers"
    used_by = "LLM4AD: other instances"
    template = TEMPLATE
    rules = f"""\
- There are {len(SIZES["search"])} instances of {SIZES["search"][0]} customers and a depot, drawn uniformly from the
  unit square. Demands are whole numbers from 1 to 9, the capacity is {CAPACITY}.
- The day ends at {DAY:g}, when vehicles must be back. Windows are {WIDTHS[0]:g}, {WIDTHS[1]:g} or {WIDTHS[2]:g} long.
  Service takes {SERVICE:g}. The number of vehicles does not count.
- `demands`, `windows` and `distance_matrix` are arrays of the function's own.
- The answer must be one of `choices`, as an integer: a float is refused, even 3.0."""
    grammar = GRAMMAR
    objective = objective_of("minimise", BEST["search"], FOUND, UNIT)
    normaliser = 100
    score_scale = 1.0

    def instances(self, split: Split) -> Sequence[Customers]:
        """Return the instances of a split: places uniform in the unit square, windows that one vehicle can meet."""
        random = np.random.RandomState(SEEDS[split])
        return [_drawn(random, size) for size in SIZES[split]]

    def in_words(self, instance: Customers, decision: int) -> str:
        """Return the chosen node as a phrase such as "customer 7"."""
        return f"customer {decision}" if decision else "back to the depot"

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
        offered, windows = instance.distances.copy(), instance.windows.copy()
        demands, room, time, visits = instance.demands.copy(), CAPACITY, 0.0, [0]
        while demands.any():
            current = visits[-1]
            fitting = np.flatnonzero((demands > 0) & (demands <= room))
            leaves = instance.leaves(time, current, fitting)
            near = fitting[np.isfinite(leaves)]
            near = near[np.argsort(instance.distances[current, near], kind="stable")]
            node = 0
            if len(near):
                choices = np.append(near, 0) if current else near
                answer = function(current, choices.copy(), room, time, demands.copy(), windows, offered)
                node = as_integer(answer, "the ID of a node, an integer")
                if node not in choices:
                    raise InvalidSolution(f"step {len(visits)}: expected one of the choices, got {node}")
            if node:
                room, time = room - int(demands[node]), float(leaves[fitting == node][0])
            else:
                room, time = CAPACITY, 0.0
            demands[node] = 0
            visits.append(node)
        return np.array([*visits, 0], dtype=np.int64)

    def score(self, instance: Customers, solution: Solution) -> float:
        """Return the length of all routes; raises InvalidSolution if they do not serve every customer once in time."""
        visits = _checked(instance, solution)
        return math.fsum(instance.distances[visits[:-1], visits[1:]].tolist())

    def trajectory(self, instance: Customers, solution: Solution) -> Trajectory:
        """Return the growing routes: state i is the first i + 1 nodes visited; raises InvalidSolution as `score`."""
        return Trajectory.prefixes(_checked(instance, solution))


def _drawn(random: np.random.RandomState, size: int) -> Customers:
    places, demands, distances = drawn(random, size)
    widths = np.array(WIDTHS)[random.randint(0, len(WIDTHS), size=size)]
    latest = DAY - SERVICE - distances[1:, 0]
    due = distances[1:, 0] + random.rand(size) * (latest - distances[1:, 0])  # a vehicle of its own is in time
    windows = np.vstack([[0.0, DAY], np.column_stack([np.maximum(due - widths, 0), due])])
    return Customers(distances, demands, windows, tuple((x, y) for x, y in places.tolist()))


def _checked(instance: Customers, solution: Solution) -> NDArray[np.int64]:
    """Return the visits as int64; raises InvalidSolution if a customer is missing, or a route too full or too late."""
    visits = checked(solution, instance.demands, CAPACITY)
    time = 0.0
    for current, node in zip(visits[:-1].tolist(), visits[1:].tolist(), strict=True):
        time = float(instance.leaves(time, current, np.array([node]))[0]) if node else 0.0
        if time == math.inf:
            raise InvalidSolution(f"expected customers served in time, {node} is not")
    return visits


task = RoutingWithTimeWindows()
