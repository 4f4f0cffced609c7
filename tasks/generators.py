"""Random instances as the literature draws them: each function returns the fields of a task's instance."""

from __future__ import annotations

import numpy as np
from behavesim_tasks.decisions import Integers, Random
from numpy.typing import NDArray

DENSITY = 0.04
"""Probability that a set of a set cover covers an element."""


def knapsack_items(random: Random, items: int, resources: int, tightness: float) -> tuple[Integers, Integers, Integers]:
    """Return values, weights (items, resources) and the room in each resource, as Chu and Beasley (1998) draw them.

    Values follow the weights loosely. The resources hold `tightness`, a fraction, of all items' weight.
    """
    weights = random.randint(1, 1001, size=(items, resources)).astype(np.int64)
    values = (weights.mean(axis=1) + random.randint(1, 501, size=items)).astype(np.int64)
    return values, weights, (tightness * weights.sum(axis=0)).astype(np.int64)


def sets_to_cover(random: Random, elements: int, sets: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Return costs of sets, and whether each covers each element, (sets, elements), as Beasley (1987) draws them.

    Every element is in two sets at least.
    """
    covers = random.rand(sets, elements) < DENSITY
    for element in range(elements):
        covers[random.choice(sets, 2, replace=False), element] = True
    return random.randint(1, 101, size=sets).astype(np.int64), covers


def sites_and_customers(random: Random, sites: int, customers: int) -> tuple[Integers, Integers]:
    """Return the sites' costs of opening and of serving, (sites, customers), for places in the unit square.

    Opening costs 500 to 2500, serving 1000 times the distance.
    """
    places, homes = random.rand(sites, 2), random.rand(customers, 2)
    distances = np.sqrt(((places[:, None] - homes[None]) ** 2).sum(axis=-1))
    opening = random.randint(500, 2501, size=sites).astype(np.int64)
    return opening, np.rint(1000 * distances).astype(np.int64)


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
