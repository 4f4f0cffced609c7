"""Graphs as the literature draws them at random, as symmetric matrices of neighbours."""

from __future__ import annotations

import numpy as np
from behavesim_tasks.decisions import DecisionTask, Drawn, Random
from numpy.typing import NDArray

# Whether two vertices are neighbours, (vertices, vertices) bool: symmetric, with False on the diagonal.
Graph = NDArray[np.bool_]


def draw_graph(random: Random, kind: str, size: int, share: float) -> Graph:
    """Return a graph of a kind: "uniform", "geometric" or "queens".

    `size` is its number of vertices; for queens the squares along a side. `share` is the density of a uniform graph or
    the reach of a geometric one, and not used for queens.
    """
    match kind:
        case "uniform":
            return uniform_graph(random, size, share)
        case "geometric":
            return geometric_graph(random, size, share)
        case _:
            return queens_graph(size)


def uniform_graph(random: Random, vertices: int, density: float) -> Graph:
    """Return a graph in which each pair of vertices is joined with the probability `density`."""
    upper = np.triu(random.rand(vertices, vertices) < density, 1)
    return upper | upper.T


def geometric_graph(random: Random, vertices: int, reach: float) -> Graph:
    """Return a graph of `vertices` points drawn from the unit square, joined if they are nearer than `reach`."""
    places = random.rand(vertices, 2)
    near: Graph = ((places[:, None] - places[None]) ** 2).sum(axis=-1) < reach**2
    return near & ~np.eye(vertices, dtype=bool)


def queens_graph(side: int) -> Graph:
    """Return the graph of a chess board of `side` x `side` squares, joined if a queen goes from one to the other."""
    row, column = np.divmod(np.arange(side * side), side)
    lines = [row, column, row + column, row - column]
    joined = np.any([line[:, None] == line for line in lines], axis=0)
    return np.asarray(joined & ~np.eye(side * side, dtype=bool))


class GraphTask(Drawn, DecisionTask):
    """A task whose instances are graphs, and whose decisions are vertices by their priorities."""

    kind = "priority"
    draw = staticmethod(draw_graph)

    def in_words(self, instance: Graph, decision: int) -> str:
        """Return the vertex `decision` as a phrase such as "vertex 7, of 12 neighbours"."""
        return f"vertex {decision}, of {instance[decision].sum()} neighbours"
