"""The fresh maps of `tsp_fresh.py`, each begun at ten cities, for programs that are started more than once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

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
    begun = [TravellingSalesman().starts(cities, STARTS) for cities in fresh]
    return tuple(each[start] for start in range(STARTS) for each in begun)


task = StartedTravellingSalesman()
