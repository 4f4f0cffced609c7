"""The six problems of the dataset: how an instance is drawn, and what a state of a solution is.

A normaliser is the largest possible distance between two states of one instance. For sequences it is their maximum
length. For the partial sums of a matrix product, whose entries never shrink, it is the norm of the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from behavesim.trajectory import Trajectory

MATRIX, NODES, CITIES, ITEMS, NUMBERS, VERTICES = 4, 8, 6, 50, 15, 20
"""Instance sizes: matrix rows, tree nodes, cities, items to pack, numbers to sort, graph vertices."""
CAPACITY = 100
"""Size of a bin, in the unit of the items."""
EDGES = 0.2
"""Probability of an edge between two vertices, besides the tree that keeps the graph connected."""
LONGEST = 100
"""Maximum edge weight; weights are integers from 1."""


@dataclass(frozen=True)
class Problem:
    """A problem that the programs of some pairs solve."""

    name: str
    entry: str
    """The function's name in sources that are compared: a usual one for the problem."""
    draw: Callable[[Generator], tuple[Any, ...]]
    """Returns a random instance: the arguments of a program."""
    trajectory: Callable[[Sequence[Any]], Trajectory]
    """Returns the trajectory of recorded states."""
    normaliser: Callable[[tuple[Any, ...], Any], float]
    """Takes an instance and its solution; returns the largest distance that two states of it can have."""


@dataclass(frozen=True)
class Node:
    """A node of a binary search tree; a child that it does not have is None."""

    value: int
    left: Node | None = None
    right: Node | None = None


def _matrices(rng: Generator) -> tuple[Any, ...]:
    return tuple(rng.integers(1, 10, (MATRIX, MATRIX)).tolist() for _ in "ab")


def _tree(rng: Generator) -> tuple[Any, ...]:
    return (_inserted(rng.permutation(NODES).tolist()),)


def _inserted(values: list[int]) -> Node | None:
    if not values:
        return None
    root, others = values[0], values[1:]
    return Node(root, _inserted([v for v in others if v < root]), _inserted([v for v in others if v > root]))


def _cities(rng: Generator) -> tuple[Any, ...]:
    places = rng.random((CITIES, 2))
    return (np.linalg.norm(places[:, None] - places[None], axis=2).tolist(),)


def _items(rng: Generator) -> tuple[Any, ...]:
    return rng.integers(10, 61, ITEMS).tolist(), CAPACITY


def _numbers(rng: Generator) -> tuple[Any, ...]:
    return (rng.permutation(NUMBERS).tolist(),)


def _graph(rng: Generator) -> tuple[Any, ...]:
    """Draw a connected undirected graph: a random tree plus each other edge with probability EDGES.

    Neighbours are listed in random order.
    """
    edges = {(int(rng.integers(node)), node) for node in range(1, VERTICES)}
    edges |= {(i, j) for i in range(VERTICES) for j in range(i + 1, VERTICES) if rng.random() < EDGES}
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(VERTICES)]
    for i, j in sorted(edges):  # weights are drawn in this order, and a set has none
        weight = int(rng.integers(1, LONGEST + 1))
        neighbours[i].append((j, weight))
        neighbours[j].append((i, weight))
    return ([[edges_of[k] for k in rng.permutation(len(edges_of))] for edges_of in neighbours],)


def _flat(states: Sequence[Any]) -> Trajectory:
    return Trajectory.vectors([np.ravel(state) for state in states])


PRODUCT = Problem("matrix product", "multiply", _matrices, _flat, lambda _, product: float(np.linalg.norm(product)))
TREE = Problem("tree traversal", "traverse", _tree, Trajectory.sequences, lambda *_: NODES)
ROUTE = Problem("route", "construct", _cities, Trajectory.sequences, lambda *_: CITIES)
PACKING = Problem("bin packing", "pack", _items, Trajectory.sequences, lambda *_: ITEMS)
SORTING = Problem("sorting", "sort_numbers", _numbers, Trajectory.sequences, lambda *_: NUMBERS)
PATHS = Problem("shortest paths", "distances_from", _graph, Trajectory.sequences, lambda *_: VERTICES)
