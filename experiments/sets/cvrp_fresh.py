"""Vehicle routing on maps that no split of `cvrp` holds, for the study of sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from behavesim_tasks.cvrp import CAPACITIES, CapacitatedRouting, Customers

from behavesim.task import Split

SEED = 32201
"""Seed of the maps, written down before any map was drawn from it."""
SIZES = (50,) * 12 + (100,) * 8
"""Number of customers of each map."""


class FreshRouting(CapacitatedRouting):
    """The task `cvrp` with 20 fresh maps as held-out instances: places uniform in the unit square, demands 1 to 9."""

    def instances(self, split: Split) -> Sequence[Customers]:
        """Return the fresh maps for the split "held-out", and the instances of `cvrp` for the others."""
        return _fresh() if split == "held-out" else super().instances(split)


@cache
def _fresh() -> tuple[Customers, ...]:
    random = np.random.RandomState(SEED)
    found: list[Customers] = []
    for size in SIZES:
        places = random.rand(size + 1, 2)
        demands = np.array([0, *random.randint(1, 10, size)], dtype=np.int64)
        distances = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=-1))
        found.append(Customers(distances, demands, CAPACITIES[size], tuple((x, y) for x, y in places.tolist())))
    return tuple(found)


task = FreshRouting()
