"""Vehicle routing with time windows, constructively: a program chooses each next customer, or the way back."""

import math
from dataclasses import dataclass, field

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import VRPTW
from behavesim_tasks.decisions import Drawn, Function, Integers, Random, Sizes
from behavesim_tasks.routes import RoutingTask, check_choice, check_routes, draw_nodes
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Solution

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

# Number of customers of each instance, by split.
SIZES: Sizes = {
    "search": ((50,),) * 5,
    "validation": ((25,),) * 2 + ((50,),) * 2,
    "held-out": ((25,),) * 2 + ((50,),) * 3 + ((100,),) * 2,
}
# Capacity of a vehicle; demands are 1 to 9.
CAPACITY = 60
# When every vehicle must be back at the depot.
DAY = 5.0
# The lengths that a customer's time window may have, each as likely; one that would begin before 0 begins at 0.
WIDTHS = (0.5, 1.0, 2.0)
# Time that a vehicle stays with a customer.
SERVICE = 0.1


@dataclass(frozen=True)
class Customers:
    """One instance; node 0 is the depot.

    `distances` are (nodes, nodes) float64, `demands` (nodes,) int64, `windows` (nodes, 2) float64, `places` (x, y).
    """

    distances: NDArray[np.float64] = field(repr=False)
    demands: Integers = field(repr=False)
    windows: NDArray[np.float64] = field(repr=False)
    places: tuple[tuple[float, float], ...] = field(repr=False)

    def leaves(self, time: float, current: int, nodes: Integers) -> NDArray[np.float64]:
        """Return when a vehicle that is at `current` at a time could leave each of the nodes after serving it.

        It is infinite where service could not begin in time, or the vehicle would not be back by the end of the day.
        """
        begins = np.maximum(time + self.distances[current, nodes], self.windows[nodes, 0])
        leaves = begins + SERVICE
        in_time = (begins <= self.windows[nodes, 1]) & (leaves + self.distances[nodes, 0] <= DAY)
        return np.where(in_time, leaves, np.inf)


class RoutingWithTimeWindows(Drawn, RoutingTask):
    """Serve all customers within their time windows by short routes from a depot, one vehicle after another.

    At each step the function receives the current node and time, the customers that fit into the vehicle and can be
    served in time, nearest first, and the depot as the last choice; it returns the node to visit next. A vehicle that
    comes early waits. The depot ends the route, and a new vehicle begins there at time 0. The score is the mean length
    of all routes together: the shorter the better.
    """

    search_size = "5 instances of 50 customers"
    used_by = "LLM4AD: other instances"
    template = TEMPLATE
    rules = f"""\
- There are 5 instances of 50 customers and a depot, drawn uniformly from the
  unit square. Demands are whole numbers from 1 to 9, the capacity is {CAPACITY}.
- The day ends at {DAY:g}, when vehicles must be back. Windows are {WIDTHS[0]:g}, {WIDTHS[1]:g} or {WIDTHS[2]:g} long.
  Service takes {SERVICE:g}. The number of vehicles does not count.
- `demands`, `windows` and `distance_matrix` are arrays of the function's own.
- The answer must be one of `choices`, as an integer: a float is refused, even 3.0."""
    grammar = grammars.VRPTW
    best_known = VRPTW
    objective = VRPTW.objective("minimise", "total length of routes")

    seed, kinds = 12024, SIZES

    @staticmethod
    def draw(random: Random, size: int) -> Customers:
        """Return so many places uniform in the unit square, with windows that a vehicle sent straight meets."""
        places, demands, distances = draw_nodes(random, "uniform", size)
        widths = np.array(WIDTHS)[random.randint(0, len(WIDTHS), size=size)]
        latest = DAY - SERVICE - distances[1:, 0]
        due = distances[1:, 0] + random.rand(size) * (latest - distances[1:, 0])  # a vehicle of its own is in time
        windows = np.vstack([[0.0, DAY], np.column_stack([np.maximum(due - widths, 0), due])])
        return Customers(distances, demands, windows, tuple((x, y) for x, y in places.tolist()))

    def solve(self, function: Function, instance: Customers) -> Solution:
        """Return the visited nodes in order, 0 first and last; raises InvalidSolution if an answer is not a choice."""
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
                node = check_choice(answer, choices, len(visits))
            if node:
                room, time = room - int(demands[node]), float(leaves[fitting == node][0])
            else:
                room, time = CAPACITY, 0.0
            demands[node] = 0
            visits.append(node)
        return np.array([*visits, 0], dtype=np.int64)

    def checked(self, instance: Customers, solution: Solution) -> Integers:
        """Return the visits as int64; raises InvalidSolution where `check_routes` does, and for a late visit."""
        visits = check_routes(solution, instance.demands, CAPACITY)
        time = 0.0
        for current, node in zip(visits[:-1].tolist(), visits[1:].tolist(), strict=True):
            time = float(instance.leaves(time, current, np.array([node]))[0]) if node else 0.0
            if time == math.inf:
                raise InvalidSolution(f"expected customers served in time, {node} is not")
        return visits

    def score(self, instance: Customers, solution: Solution) -> float:
        """Return the length of all routes; raises InvalidSolution for an invalid solution."""
        visits = self.checked(instance, solution)
        return math.fsum(instance.distances[visits[:-1], visits[1:]].tolist())


task = RoutingWithTimeWindows()
