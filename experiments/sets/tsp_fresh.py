"""The travelling salesman on maps that no split of `tsp` holds, for the study of sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from behavesim_tasks.tsp import Cities, TravellingSalesman

from behavesim.task import Split

SEED = 32001
"""Seed of the maps, written down before any map was drawn from it."""
SIZES = (50,) * 12 + (100,) * 8
"""Number of cities of each map."""


class FreshTravellingSalesman(TravellingSalesman):
    """The task `tsp` with 20 fresh maps, whose cities are uniform in the unit square, as held-out instances."""

    def instances(self, split: Split) -> Sequence[Cities]:
        """Return the fresh maps for the split "held-out", and the instances of `tsp` for the others."""
        return _fresh() if split == "held-out" else super().instances(split)


@cache
def _fresh() -> tuple[Cities, ...]:
    random = np.random.RandomState(SEED)
    return tuple(Cities.at(f"fresh-{size}", random.rand(size, 2)) for size in SIZES)


task = FreshTravellingSalesman()
