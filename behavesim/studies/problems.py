"""The six problems of the dataset: how an instance is drawn, and what a state of a solution is.

The normaliser is the greatest distance two states of the same instance can have: of sequences their greatest length, of
the growing matrices of a product, whose entries never shrink, the norm of the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from behavesim.trajectory import Trajectory

MATRIX, NODES, CITIES, ITEMS, NUMBERS, VERTICES = 4, 8, 6, 50, 15, 20
"""How large instances are: rows of a matrix, nodes of a tree, cities, items to pack, numbers to sort, vertices."""
CAPACITY = 100
EDGES = 0.2
"""The chance of an edge between two vertices, beside those that keep the graph connected."""
LONGEST = 100
"""The greatest weight of an edge."""


@dataclass(frozen=True)
class Problem:
    """`draw` makes an instance: the arguments of a program; `entry` is what its programs are called in the field.

    `normaliser` takes the instance and its solution.
    """

    name: str
    entry: str
    draw: Callable[[Generator], tuple[Any, ...]]
    trajectory: Callable[[Sequence[Any]], Trajectory]
    normaliser: Callable[[tuple[Any, ...], Any], float]


@dataclass(frozen=True)
class Node:
    """A node of a binary search tree."""

    value: int
    left: Node | None = None
    right: Node | None = None


def _matrices(rng: Generator) -> tuple[Any, ...]:
    return tuple(rng.integers(1, 10, (MATRIX, MATRIX)).tolist() for _ in "ab")


def _tree(rng: Generator) -> tuple[Any, ...]:
    return (_inserted(rng.permutation(NODES).tolist()),)


def _inserted(values: list[int]) -> Node | None:
    """The binary search tree that grows as the values are inserted in their order."""
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
    """Undirected and connected: a random tree, and each further edge with the chance EDGES; neighbours in any order."""
    edges = {(int(rng.integers(node)), node) for node in range(1, VERTICES)}
    edges |= {(i, j) for i in range(VERTICES) for j in range(i + 1, VERTICES) if rng.random() < EDGES}
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(VERTICES)]
    for i, j in sorted(edges):
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
