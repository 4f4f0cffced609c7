"""Quadratic assignment, by priority: a program ranks the placements of a facility at a location."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from behavesim_tasks.known import objective_of
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Solution, Split, Task, as_integers, first_greatest
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def priority(added: np.ndarray, flows: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each facility is placed at each location next; the greatest one is done.
    Args:
        added: What each placement costs, with the facilities placed so far, shape (facilities, locations).
        flows: Flows between the facilities that are left, symmetric, shape (facilities, facilities).
        distances: Distances between the free locations, symmetric, shape (locations, locations).

    Return:
        Array of the same shape as added with the priority of each placement.
    """
    return -added
'''

GRAMMAR = """
cost: table = 1.0 * added
flow: column = 1.0 * flows.sum(axis=1)[:, None]
distance: row = 1.0 * distances.sum(axis=1)
left: scalar = len(added)
still: table = flow * distance / max(left - 1, 1)
sorted_flows: matrix = np.sort(flows, axis=1)[:, ::-1]
sorted_distances: matrix = np.sort(distances + 999 * np.eye(left), axis=1)
bound: table = sorted_flows[:, :left - 1] @ sorted_distances[:, :left - 1].T
regret: table = np.sort(added, axis=1)[:, min(1, left - 1)][:, None] - added
busy: table = flow + 0 * added
central: table = -distance + 0 * added

table = -cost - number * still | -cost - number * bound | regret | busy | central | -cost | busy - number * cost
table = table + number * table | table - number * table | table * scalar | np.maximum(table, table)
table = (table if left > stage else table) | np.where(table > scalar, table, table) | table / (1 + np.abs(table))
scalar = number | left | table.mean() | table.max() | scalar * scalar
stage = 2 | 4 | 6 | 8 | 10 | 12 | 15 | 18

score: table
return score
"""
"""Grammar of the offline proposer: the cost of a placement now, and what it is likely to cost later."""

SIDES: dict[Split, tuple[tuple[int, int], ...]] = {
    "search": ((4, 5),) * 6,
    "validation": ((3, 4), (3, 5), (4, 5), (4, 5)),
    "held-out": ((3, 4), (3, 5), (4, 5), (4, 5), (5, 5), (5, 5)),
}
"""Sides of the grid of locations of each instance, by split; as many facilities are placed."""
SEEDS: dict[Split, int] = {"search": 11024, "validation": 11025, "held-out": 11026}
"""Seed of numpy's legacy generator, which draws the flows of a split: its numbers never change."""
BEST: dict[Split, tuple[int, ...]] = {
    "search": (1391, 1503, 1584, 1528, 1679, 1666),
    "validation": (505, 955, 1301, 1364),
    "held-out": (380, 916, 1788, 1387, 2596, 2823),
}
"""Least cost known of each instance, in order."""
FOUND = "best of 20 000 descents by exchanges of two, not proved"
"""How BEST are known."""
UNIT = "total cost"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Sites:
    """One instance: `flows` between facilities and `distances` between locations, both symmetric (n, n) int64."""

    flows: NDArray[np.int64] = field(repr=False)
    distances: NDArray[np.int64] = field(repr=False)


class QuadraticAssignment(Task):
    """Place facilities at locations so that the flow between facilities travels a short way.

    The cost of two facilities is their flow times the distance of their locations. At each step the function receives
    what each placement of a facility that is left at a free location would add, the flows between these facilities and
    the distances between these locations. It returns a priority for each placement; the one of greatest priority is
    done. The score is the mean cost over all pairs: the less the better.
    """

    kind = "priority"
    search_size = f"{len(SIDES['search'])} instances of {math.prod(SIDES['search'][0])} facilities"
    used_by = "LLM4AD: other instances"
    template = TEMPLATE
    rules = f"""\
- There are {len(SIDES["search"])} instances of {math.prod(SIDES["search"][0])} facilities. The locations are a grid of
  4 by 5 with distances along its lines. A third of the flows is 0, the others are whole numbers from 1 to 10.
- The function is called 20 times for an instance, with arrays of its own. At the first call `added` is all zeros.
- The answer must have the shape of `added`. The greatest must be finite; of equal ones the first, row by row,
  is done."""
    grammar = GRAMMAR
    objective = objective_of("minimise", BEST["search"], FOUND, UNIT)
    normaliser = 20
    score_scale = 50.0

    def instances(self, split: Split) -> Sequence[Sites]:
        """Return the instances of a split, drawn as Nugent, Vollmann and Ruml (1968) do: grids, and sparse flows."""
        random = np.random.RandomState(SEEDS[split])
        return [_drawn(random, *sides) for sides in SIDES[split]]

    def in_words(self, instance: Sites, decision: int) -> str:
        """Return the placement as a phrase such as "facility 3 at location 7"."""
        return "facility {} at location {}".format(*divmod(decision, len(instance.flows)))

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of BEST."""
        return objective_of("minimise", BEST[split], FOUND, UNIT)

    def solve(self, function: Callable[..., Any], instance: Sites) -> Solution:
        """Return the placements in order, (n,) int64: facility * n + location.

        Raises InvalidSolution if an answer is not one number for each placement, or its greatest is not finite.
        """
        n = len(instance.flows)
        facilities, locations, placements = np.arange(n), np.arange(n), []
        added = np.zeros((n, n), np.int64)
        while len(facilities):
            of, at = np.ix_(facilities, facilities), np.ix_(locations, locations)
            answer = np.asarray(
                function(added[np.ix_(facilities, locations)], instance.flows[of], instance.distances[at])
            )
            if answer.shape != (len(facilities), len(locations)):
                raise InvalidSolution(f"expected priorities of shape {(len(facilities),) * 2}, got {answer.shape}")
            row, column = divmod(first_greatest(answer.ravel(), answer.size), len(locations))
            facility, location = facilities[row], locations[column]
            added += instance.flows[:, facility, None] * instance.distances[location]
            facilities, locations = np.delete(facilities, row), np.delete(locations, column)
            placements.append(facility * n + location)
        return np.array(placements, dtype=np.int64)

    def score(self, instance: Sites, solution: Solution) -> float:
        """Return the cost of all pairs; raises InvalidSolution if a facility or a location has no place of its own."""
        facilities, locations = np.divmod(_checked(instance, solution), len(instance.flows))
        flows = instance.flows[np.ix_(facilities, facilities)]
        return float((flows * instance.distances[np.ix_(locations, locations)]).sum() // 2)

    def trajectory(self, instance: Sites, solution: Solution) -> Trajectory:
        """Return the growing assignment: state i is the first i + 1 placements; raises as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def _drawn(random: np.random.RandomState, height: int, width: int) -> Sites:
    n = height * width
    row, column = np.divmod(np.arange(n), width)
    distances = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    flows = np.triu(random.randint(1, 11, size=(n, n)) * (random.rand(n, n) < 2 / 3), 1)
    return Sites((flows + flows.T).astype(np.int64), distances.astype(np.int64))


def _checked(instance: Sites, solution: Solution) -> NDArray[np.int64]:
    n = len(instance.flows)
    placements = as_integers(solution, n * n, f"{n} placements", n)
    facilities, locations = np.divmod(placements, n)
    if len(np.unique(facilities)) != n or len(np.unique(locations)) != n:
        raise InvalidSolution(f"expected {n} placements with each facility and each location once")
    return placements


task = QuadraticAssignment()
