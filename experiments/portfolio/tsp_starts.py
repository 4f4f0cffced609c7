"""The fresh maps of `tsp_fresh.py`, each begun at ten cities, for programs that are started more than once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from behavesim_tasks.tsp import Cities, TravellingSalesman

from behavesim.task import Split, TaskReference

STARTS = 10
"""Number of starts: cities 0 to 9 of each map. Its cities are drawn at random, so that these are as good as any."""


class StartedTravellingSalesman(TravellingSalesman):
    """The task `tsp` with held-out instances of its own: the fresh maps from city 0, then from city 1, up to 9."""

    def instances(self, split: Split) -> Sequence[Cities]:
        """Return the fresh maps with another city as number 0 for "held-out", else the instances of `tsp`."""
        return _started() if split == "held-out" else super().instances(split)


@cache
def _started() -> tuple[Cities, ...]:
    fresh = TaskReference(__file__.replace("tsp_starts", "tsp_fresh")).load().instances("held-out")
    return tuple(_begun(cities, start) for start in range(STARTS) for cities in fresh)


def _begun(cities: Cities, start: int) -> Cities:
    order = np.arange(len(cities.distances))
    order[[0, start]] = start, 0
    distances = cities.distances[np.ix_(order, order)]
    distances.setflags(write=False)
    return Cities(f"{cities.name} from {start}", distances)


task = StartedTravellingSalesman()
