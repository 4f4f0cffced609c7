"""Random instances as the literature draws them: graphs, as symmetric matrices of neighbours, and other fields."""

from __future__ import annotations

import numpy as np
from behavesim_tasks.decisions import Integers, Random
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


# Number of sets that cover each element of a set cover. So few make relaxations weak: a third of each set will do.
COVERED_BY = 3


def knapsack_items(random: Random, items: int, resources: int, tightness: float) -> tuple[Integers, Integers, Integers]:
    """Return values, weights (items, resources) and the room in each resource, as Chu and Beasley (1998) draw them.

    Values follow the weights loosely. The resources hold `tightness`, a fraction, of all items' weight.
    """
    weights = random.randint(1, 1001, size=(items, resources)).astype(np.int64)
    values = (weights.mean(axis=1) + random.randint(1, 501, size=items)).astype(np.int64)
    return values, weights, (tightness * weights.sum(axis=0)).astype(np.int64)


def sets_to_cover(random: Random, elements: int, sets: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Return costs of sets, 50 to 100, and whether each covers each element, (sets, elements).

    Every element is in COVERED_BY sets, as in Steiner triples, whose covers Fulkerson and others (1974) found hard.
    """
    covers = np.zeros((sets, elements), bool)
    for element in range(elements):
        covers[random.choice(sets, COVERED_BY, replace=False), element] = True
    return random.randint(50, 101, size=sets).astype(np.int64), covers


def sites_and_customers(random: Random, sites: int, customers: int) -> tuple[Integers, Integers]:
    """Return the sites' costs of opening, 2000 to 4000, and of serving, 0 to 10 000, shape (sites, customers).

    No cost says anything of another, as in the class "uniform" of Kochetov and Ivanenko (2003): relaxations of places
    in the plane are nearly whole, and theirs are not.
    """
    opening = random.randint(2000, 4001, size=sites).astype(np.int64)
    return opening, random.randint(0, 10_001, size=(sites, customers)).astype(np.int64)


def items_to_pack(random: Random, kind: str, items: int) -> tuple[Integers, int]:
    """Return the sizes of so many items, greatest first, and a bin's capacity, as Falkenauer (1996) draws them.

    `kind` is "uniform", 20 to 100 for bins of 150, or "triplets", three of which fill a bin of 1000 exactly: their
    number is rounded up to a multiple of 3.
    """
    if kind == "uniform":
        return -np.sort(-random.randint(20, 101, size=items).astype(np.int64)), 150
    sizes: list[int] = []
    while len(sizes) < items:
        first = random.randint(380, 491)
        second = random.randint(250, (1000 - first) // 2 + 1)
        sizes += [first, second, 1000 - first - second]
    return -np.sort(-np.array(sizes, dtype=np.int64)), 1000


def flows_on_a_grid(random: Random, height: int, width: int) -> tuple[Integers, Integers]:
    """Return flows between facilities and distances between the places of a grid, as Nugent and others (1968) do.

    Both are symmetric (n, n) for n = `height` * `width`. A flow is 0 with probability 1/3, else 1 to 10. Distances
    go along the grid's lines.
    """
    row, column = np.divmod(np.arange(height * width), width)
    distances = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    flows = np.triu(random.randint(1, 11, size=distances.shape) * (random.rand(*distances.shape) < 2 / 3), 1)
    return (flows + flows.T).astype(np.int64), distances.astype(np.int64)
