"""The travelling salesman with ten cities, whose instances have no end: for runs with a race."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from behavesim_tasks.tsp import Cities, TravellingSalesman

from behavesim.task import SPLITS, Objective, Split


class EndlessCities(TravellingSalesman):
    """Maps of ten random cities, by number; the first three of a split are its instances."""

    objective = Objective("minimise")
    endless = True
    shifted = ""

    def instances(self, split: Split) -> Sequence[Cities]:
        """The first three."""
        return [self.instance(split, number) for number in range(3)]

    def instance(self, split: Split, number: int) -> Cities:
        """A map that only its split and number decide."""
        places = np.random.default_rng([7, SPLITS.index(split), number]).random((10, 2))
        distances = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        distances.flags.writeable = False
        return Cities(f"{split} {number}", distances)

    def objective_on(self, split: Split) -> Objective:
        """Nobody knows the shortest tours."""
        return self.objective


task = EndlessCities()
