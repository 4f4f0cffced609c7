"""Graph colouring, by priority: a program ranks the vertices that could be coloured next."""

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import GRAPH_COLOURING
from behavesim_tasks.decisions import Function, Integers, Sizes
from behavesim_tasks.graphs import Graph, GraphTask

from behavesim.task import Solution, as_permutation, first_greatest

TEMPLATE = '''\
import numpy as np

def priority(neighbours: np.ndarray, colours: np.ndarray, left: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each vertex is coloured next; the vertex of greatest priority is.
    Args:
        neighbours: Whether two vertices of the graph are joined, bool of shape (vertices, vertices).
        colours: Colour of each vertex, from 0; -1 if it has none yet, shape (vertices,).
        left: The vertices that have no colour, ascending.

    Return:
        Array with the priority of each vertex of `left`. It gets the lowest colour that no neighbour has.
    """
    around = [colours[neighbours[vertex]] for vertex in left]
    saturation = np.array([len(set(seen[seen >= 0])) for seen in around])
    degree = neighbours[np.ix_(left, left)].sum(axis=1)
    return saturation + degree / len(neighbours)
'''

# Kind, size (vertices, or squares of a side) and density or reach of each graph, by split.
GRAPHS: Sizes = {
    "search": (
        *(("queens", 7, 0), ("queens", 8, 0), ("queens", 9, 0), ("uniform", 70, 0.5), ("uniform", 70, 0.5)),
        *(("uniform", 90, 0.3), ("geometric", 100, 0.35), ("geometric", 100, 0.25)),
    ),
    "validation": (("queens", 6, 0), ("uniform", 70, 0.5), ("uniform", 90, 0.3), ("geometric", 100, 0.3)),
    "held-out": (
        *(("queens", 5, 0), ("queens", 10, 0), ("queens", 11, 0), ("uniform", 70, 0.5), ("uniform", 70, 0.3)),
        *(("uniform", 90, 0.3), ("geometric", 150, 0.25), ("geometric", 150, 0.15)),
    ),
}


class GraphColouring(GraphTask):
    """Colour the vertices of a graph with few colours, so that joined vertices differ.

    At each step the function receives the graph, the colours so far and the vertices that have none. It returns a
    priority for each of these; the vertex of greatest priority gets the lowest colour that no neighbour has. The score
    is the mean number of colours: the fewer the better.
    """

    search_size = "8 graphs of 49 to 100 vertices"
    template = TEMPLATE
    rules = """\
- There are 8 graphs: the queens' graphs of boards of 7, 8 and 9 squares a side; two random
  ones of 70 vertices with half of all pairs joined and one of 90 with 30 %; two of 100 points of a square,
  joined if near.
- The function is called for each vertex, 624 times in all, with arrays of its own: use numpy, no loop over pairs.
- The answer must have one number for each vertex of `left`. The greatest must be finite; of equal ones the first vertex
  is coloured."""
    grammar = grammars.GRAPH_COLOURING
    best_known = GRAPH_COLOURING
    objective = GRAPH_COLOURING.objective("minimise", "number of colours")
    normaliser = 100
    score_scale = 0.5

    seed, kinds = 9024, GRAPHS

    def solve(self, function: Function, instance: Graph) -> Solution:
        """Return the vertices in colouring order, (vertices,) int64; raises InvalidSolution for unusable priorities."""
        colours, order, offered = np.full(len(instance), -1), [], instance.copy()
        while len(left := np.flatnonzero(colours < 0)):
            answer = function(offered, colours.copy(), left.copy())
            vertex = int(left[first_greatest(answer, len(left))])
            colours[vertex] = _lowest(instance, colours, vertex)
            order.append(vertex)
        return np.array(order, dtype=np.int64)

    def checked(self, instance: Graph, solution: Solution) -> Integers:
        """Return the order of the vertices as int64; raises InvalidSolution unless it has every vertex once."""
        return as_permutation(solution, len(instance), f"an order of {len(instance)} vertices")

    def score(self, instance: Graph, solution: Solution) -> float:
        """Return the number of colours; raises InvalidSolution for an invalid solution."""
        colours = np.full(len(instance), -1)
        for vertex in self.checked(instance, solution).tolist():
            colours[vertex] = _lowest(instance, colours, vertex)
        return float(colours.max() + 1)


def _lowest(instance: Graph, colours: Integers, vertex: int) -> int:
    """Return the lowest colour that no neighbour of the vertex has."""
    seen = set(colours[instance[vertex]].tolist())
    return next(colour for colour in range(len(instance)) if colour not in seen)


task = GraphColouring()
