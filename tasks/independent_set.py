"""Independent sets, by priority: a program ranks the vertices that can still join the set."""

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import INDEPENDENT_SET
from behavesim_tasks.decisions import Function, Integers, Sizes
from behavesim_tasks.graphs import Graph, GraphTask

from behavesim.task import InvalidSolution, Solution, as_subset, first_greatest

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

# Kind, number of vertices and density or reach of each graph, by split.
GRAPHS: Sizes = {
    "search": (("uniform", 150, 0.05), ("uniform", 100, 0.1), ("geometric", 200, 0.1), ("uniform", 100, 0.2)) * 2,
    "validation": (("uniform", 150, 0.05), ("uniform", 100, 0.1), ("geometric", 200, 0.1), ("uniform", 100, 0.2)),
    "held-out": (
        *(("uniform", 150, 0.05), ("uniform", 100, 0.1), ("geometric", 200, 0.1), ("uniform", 100, 0.2)),
        *(("uniform", 180, 0.05), ("uniform", 120, 0.1), ("geometric", 300, 0.1), ("uniform", 120, 0.3)),
    ),
}


class IndependentSet(GraphTask):
    """Find large sets of vertices of a graph, no two of them neighbours.

    At each step the function receives which of the vertices that can still join are neighbours. It returns a priority
    for each; the vertex of greatest priority joins the set, and its neighbours are left out. The score is the mean
    number of vertices in the set: the more the better.
    """

    search_size = "8 graphs of 100 to 200 vertices"
    template = TEMPLATE
    rules = """\
- There are 8 graphs: random ones of 150 vertices with 5 % of all pairs joined, of 100 with 10 %
  and with 20 %, and 200 points of a square, joined if they are nearer than a tenth of its side; two of each.
- The function is called before each choice, some 350 times in all, with an array of its own.
- The answer must have one number for each vertex. The greatest must be finite; of equal ones the first vertex joins."""
    grammar = grammars.INDEPENDENT_SET
    best_known = INDEPENDENT_SET
    objective = INDEPENDENT_SET.objective("maximise", "vertices in the set")
    normaliser = 72  # size of the largest set known, on held-out instances
    score_scale = 1.0

    seed, kinds = 10024, GRAPHS

    def solve(self, function: Function, instance: Graph) -> Solution:
        """Return the vertices as they join the set, (joined,) int64; raises InvalidSolution for unusable priorities."""
        left, joined = np.arange(len(instance)), []
        while len(left):
            vertex = left[first_greatest(function(instance[np.ix_(left, left)]), len(left))]
            left = left[~instance[vertex, left] & (left != vertex)]
            joined.append(vertex)
        return np.array(joined, dtype=np.int64)

    def checked(self, instance: Graph, solution: Solution) -> Integers:
        """Return the vertices as int64; raises InvalidSolution for none, a repeated one, or two that are neighbours."""
        joined = as_subset(solution, len(instance), "vertices of the set")
        if instance[np.ix_(joined, joined)].any():
            raise InvalidSolution("expected a set without neighbours, two of its vertices are joined")
        return joined

    def score(self, instance: Graph, solution: Solution) -> float:
        """Return the size of the set; raises InvalidSolution for an invalid solution."""
        return float(len(self.checked(instance, solution)))


task = IndependentSet()
