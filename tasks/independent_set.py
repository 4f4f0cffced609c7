"""Independent sets, by priority: a program ranks the vertices that can still join the set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from behavesim_tasks.grammars import RANKING
from behavesim_tasks.graphs import Graph, drawn
from behavesim_tasks.known import objective_of
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Solution, Split, Task, as_integers, first_greatest
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def priority(neighbours: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each vertex joins the set next; the vertex of greatest priority does.
    Args:
        neighbours: Whether two of the vertices that can still join are neighbours, bool of shape (left, left).

    Return:
        Array of shape (left,) with the priority of each.
    """
    return -neighbours.sum(axis=1)
'''

GRAMMAR = f"""
links: matrix = 1.0 * neighbours
degree: vector = links.sum(axis=1)
second: vector = links @ degree
mean_second: vector = second / (degree + 1)
lowest: vector = np.where(neighbours, degree, 999).min(axis=1)
pull: vector = links @ (1 / (degree + 1))
triangles: vector = ((links @ links) * links).sum(axis=1)
left: scalar = len(links)

vector = -degree | -degree | vector - number * degree | pull - degree | -second | mean_second | lowest | triangles
vector = -degree + vector / left | links @ vector | vector + number * pull | -np.minimum(degree, few) + vector / left
few = 1 | 2 | 3 | 4
{RANKING}"""
"""Grammar of the offline proposer: degrees, those of the neighbours, and triangles."""

GRAPHS: dict[Split, tuple[tuple[str, int, float], ...]] = {
    "search": (("uniform", 150, 0.05), ("uniform", 100, 0.1), ("geometric", 200, 0.1), ("uniform", 100, 0.2)) * 2,
    "validation": (("uniform", 150, 0.05), ("uniform", 100, 0.1), ("geometric", 200, 0.1), ("uniform", 100, 0.2)),
    "held-out": (
        *(("uniform", 150, 0.05), ("uniform", 100, 0.1), ("geometric", 200, 0.1), ("uniform", 100, 0.2)),
        *(("uniform", 180, 0.05), ("uniform", 120, 0.1), ("geometric", 300, 0.1), ("uniform", 120, 0.3)),
    ),
}
"""Kind, number of vertices and density or reach of each graph, by split."""
SEEDS: dict[Split, int] = {"search": 10024, "validation": 10025, "held-out": 10026}
"""Seed of numpy's legacy generator, which draws the graphs of a split: its numbers never change."""
LARGEST: dict[Split, tuple[int, ...]] = {
    "search": (56, 32, 63, 21, 55, 29, 64, 20),
    "validation": (55, 32, 61, 20),
    "held-out": (53, 30, 61, 20, 59, 35, 72, 16),
}
"""Size of the largest independent set known of each graph, in order."""
FOUND = "by CP-SAT of OR-tools, all but one proved optimal"
"""How LARGEST are known."""
UNIT = "vertices in the set"
"""What scores are numbers of."""


class IndependentSet(Task):
    """Find large sets of vertices of a graph, no two of them neighbours.

    At each step the function receives which of the vertices that can still join are neighbours. It returns a priority
    for each; the vertex of greatest priority joins the set, and its neighbours are left out. The score is the mean
    number of vertices in the set: the more the better.
    """

    kind = "priority"
    search_size = f"{len(GRAPHS['search'])} graphs of 100 to 200 vertices"
    template = TEMPLATE
    rules = f"""\
- There are {len(GRAPHS["search"])} graphs: random ones of 150 vertices with 5 % of all pairs joined, of 100 with 10 %
  and with 20 %, and 200 points of a square, joined if they are nearer than a tenth of its side; two of each.
- The function is called before each choice, some 350 times in all, with an array of its own.
- The answer must have one number for each vertex. The greatest must be finite; of equal ones the first vertex joins."""
    grammar = GRAMMAR
    objective = objective_of("maximise", LARGEST["search"], FOUND, UNIT)
    normaliser = 60
    score_scale = 1.0

    def instances(self, split: Split) -> Sequence[Graph]:
        """Return the graphs of a split."""
        random = np.random.RandomState(SEEDS[split])
        return [drawn(random, *graph) for graph in GRAPHS[split]]

    def in_words(self, instance: Graph, decision: int) -> str:
        """Return the chosen vertex as a phrase such as "vertex 7, of 12 neighbours"."""
        return f"vertex {decision}, of {instance[decision].sum()} neighbours"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of LARGEST."""
        return objective_of("maximise", LARGEST[split], FOUND, UNIT)

    def solve(self, function: Callable[..., Any], instance: Graph) -> Solution:
        """Return the vertices in the order in which they join, (joined,) int64.

        Raises InvalidSolution if an answer is not one number for each vertex, or its greatest is not finite.
        """
        left, joined = np.arange(len(instance)), []
        while len(left):
            vertex = left[first_greatest(function(instance[np.ix_(left, left)]), len(left))]
            left = left[~instance[vertex, left] & (left != vertex)]
            joined.append(vertex)
        return np.array(joined, dtype=np.int64)

    def score(self, instance: Graph, solution: Solution) -> float:
        """Return the size of the set; raises InvalidSolution if two are neighbours, or one is in it twice."""
        return float(len(_checked(instance, solution)))

    def trajectory(self, instance: Graph, solution: Solution) -> Trajectory:
        """Return the growing set: state i is the first i + 1 vertices; raises InvalidSolution as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def _checked(instance: Graph, solution: Solution) -> NDArray[np.int64]:
    joined = as_integers(solution, len(instance), "vertices of the set")
    if not len(joined) or len(np.unique(joined)) != len(joined):
        raise InvalidSolution("expected vertices of the set, at least one and each once")
    if instance[np.ix_(joined, joined)].any():
        raise InvalidSolution("expected a set without neighbours, two of its vertices are joined")
    return joined


task = IndependentSet()
