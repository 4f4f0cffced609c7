"""Graph colouring, by priority: a program ranks the vertices that could be coloured next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from behavesim_tasks.grammars import RANKING
from behavesim_tasks.graphs import Graph, drawn
from behavesim_tasks.known import objective_of
from numpy.typing import NDArray

from behavesim.task import Objective, Solution, Split, Task, as_permutation, first_greatest
from behavesim.trajectory import Trajectory

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

GRAMMAR = f"""
free: matrix = neighbours[np.ix_(left, left)]

hues: matrix = (colours[:, None] == np.arange(colours.max() + 1)).astype(float)
saturation: vector = ((neighbours[left] @ hues) > 0).sum(axis=1)
degree: vector = 1.0 * free.sum(axis=1)
whole: vector = 1.0 * neighbours[left].sum(axis=1)
second: vector = free @ degree
tied: vector = free @ saturation
coloured: scalar = 1 - len(left) / len(neighbours)
total: scalar = len(neighbours)

vector = saturation + vector / total | saturation + vector / total | saturation | degree | whole | second | tied
vector = vector + number * saturation | vector + number * degree | saturation * whole | tied / (degree + 1)
{RANKING}"""
"""Grammar of the offline proposer: how many colours a vertex sees, and how many neighbours are left."""

GRAPHS: dict[Split, tuple[tuple[str, int, float], ...]] = {
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
"""Kind, size (vertices, or squares of a side) and density or reach of each graph, by split."""
SEEDS: dict[Split, int] = {"search": 9024, "validation": 9025, "held-out": 9026}
"""Seed of numpy's legacy generator, which draws the graphs of a split: its numbers never change."""
FEWEST: dict[Split, tuple[int, ...]] = {
    "search": (7, 9, 10, 12, 12, 9, 17, 12),
    "validation": (7, 12, 9, 15),
    "held-out": (5, 11, 11, 12, 8, 9, 16, 10),
}
"""Fewest colours known of each graph, in order."""
FOUND = "found by CP-SAT of OR-tools, half of them proved; of queens as published"
"""How FEWEST are known."""
UNIT = "number of colours"
"""What scores are numbers of."""


class GraphColouring(Task):
    """Colour the vertices of a graph with few colours, so that joined vertices differ.

    At each step the function receives the graph, the colours so far and the vertices that have none. It returns a
    priority for each of these; the vertex of greatest priority gets the lowest colour that no neighbour has. The score
    is the mean number of colours: the fewer the better.
    """

    kind = "priority"
    search_size = f"{len(GRAPHS['search'])} graphs of 49 to 100 vertices"
    template = TEMPLATE
    rules = f"""\
- There are {len(GRAPHS["search"])} graphs: the queens' graphs of boards of 7, 8 and 9 squares a side; two random
  ones of 70 vertices with half of all pairs joined and one of 90 with 30 %; two of 100 points of a square,
  joined if near.
- The function is called for each vertex, 624 times in all, with arrays of its own: use numpy, no loop over pairs.
- The answer must have one number for each vertex of `left`. The greatest must be finite; of equal ones the first vertex
  is coloured."""
    grammar = GRAMMAR
    objective = objective_of("minimise", FEWEST["search"], FOUND, UNIT)
    normaliser = 100
    score_scale = 0.5

    def instances(self, split: Split) -> Sequence[Graph]:
        """Return the graphs of a split."""
        random = np.random.RandomState(SEEDS[split])
        return [drawn(random, *graph) for graph in GRAPHS[split]]

    def in_words(self, instance: Graph, decision: int) -> str:
        """Return the coloured vertex as a phrase such as "vertex 7, of 12 neighbours"."""
        return f"vertex {decision}, of {instance[decision].sum()} neighbours"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of FEWEST."""
        return objective_of("minimise", FEWEST[split], FOUND, UNIT)

    def solve(self, function: Callable[..., Any], instance: Graph) -> Solution:
        """Return the vertices in the order in which they are coloured, (vertices,) int64.

        Raises InvalidSolution if an answer is not one number for each vertex, or its greatest is not finite.
        """
        colours, order, offered = np.full(len(instance), -1), [], instance.copy()
        while len(left := np.flatnonzero(colours < 0)):
            answer = function(offered, colours.copy(), left.copy())
            vertex = int(left[first_greatest(answer, len(left))])
            colours[vertex] = _lowest(instance, colours, vertex)
            order.append(vertex)
        return np.array(order, dtype=np.int64)

    def score(self, instance: Graph, solution: Solution) -> float:
        """Return the number of colours; raises InvalidSolution if the solution has not every vertex once."""
        colours = np.full(len(instance), -1)
        for vertex in _checked(instance, solution).tolist():
            colours[vertex] = _lowest(instance, colours, vertex)
        return float(colours.max() + 1)

    def trajectory(self, instance: Graph, solution: Solution) -> Trajectory:
        """Return the growing order: state i is the first i + 1 vertices; raises InvalidSolution as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def _lowest(instance: Graph, colours: NDArray[np.int64], vertex: int) -> int:
    """Return the lowest colour that no neighbour of the vertex has."""
    seen = set(colours[instance[vertex]].tolist())
    return next(colour for colour in range(len(instance)) if colour not in seen)


def _checked(instance: Graph, solution: Solution) -> NDArray[np.int64]:
    return as_permutation(solution, len(instance), f"an order of {len(instance)} vertices")


task = GraphColouring()
