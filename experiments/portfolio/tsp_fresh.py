"""The travelling salesman on maps that no split of `tsp` holds, for the page on portfolios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from behavesim_tasks.tsp import Cities, TravellingSalesman

from behavesim.task import Objective, Split

SEED = 18001
"""Seed of the maps, written down before any map was drawn from it."""
SIZES = (50,) * 20 + (100,) * 16
TRIED = (*range(12), *range(20, 28))
"""Indices of the maps on which programs are evaluated: there was no time for all of them."""
SHORTEST = """
5.612327 5.572243 6.017951 5.545584 5.815269 6.186331 5.562864 5.909222 5.804734 6.072260 6.105473 5.693694
5.982051 5.533752 5.220308 5.573729 5.452869 5.831431 5.269596 5.917784 7.803001 7.767984 7.643760 7.716886
7.883990 7.906990 7.929090 7.931534 7.593520 7.747830 7.870593 7.281476 7.939794 7.669437 8.015680 7.476211
"""
"""Length of the shortest tour of each map that Helsgaun's Lin-Kernighan heuristic found in twenty runs; not proved to
be optimal."""


class FreshTravellingSalesman(TravellingSalesman):
    """The task `tsp` with 20 fresh maps, whose cities are uniform in the unit square, as held-out instances."""

    references = tuple(float(SHORTEST.split()[place]) for place in TRIED)

    def instances(self, split: Split) -> Sequence[Cities]:
        """Return the fresh maps for the split "held-out", and the instances of `tsp` for the others."""
        return _fresh() if split == "held-out" else super().instances(split)

    def objective_on(self, split: Split) -> Objective:
        """Return the objective; for "held-out" the best known score is the mean of the fresh maps' shortest tours."""
        fresh = Objective("minimise", math.fsum(self.references) / len(TRIED))
        return fresh if split == "held-out" else super().objective_on(split)


@cache
def _fresh() -> tuple[Cities, ...]:
    random = np.random.RandomState(SEED)
    maps = [Cities.at(f"fresh-{size}", random.rand(size, 2)) for size in SIZES]
    return tuple(maps[place] for place in TRIED)


task = FreshTravellingSalesman()
