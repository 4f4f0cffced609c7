"""The travelling salesman with 200 to 500 cities, for programs that keep no state and have 2 s of CPU time a tour."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from behavesim_tasks.grammars import TOUR
from behavesim_tasks.known import objective_of
from behavesim_tasks.places import A_CLUSTER
from behavesim_tasks.tsp import FOUND, UNIT, Cities, TravellingSalesman, maps

from behavesim.task import Objective, Split

SIZES: dict[Split, tuple[int, ...]] = {
    "search": (200, 300, 500),
    "validation": (250, 400),
    "held-out": (200, 300, 400, 500),
}
"""Numbers of cities, by split; of each there are two maps, first one with uniform cities, then one with clusters."""
SEEDS: dict[Split, int] = {"search": 3024, "validation": 3025, "held-out": 3026}
"""Seed of numpy's legacy generator, which draws the cities of a split; they differ from the seeds of `tsp`."""
SECONDS_A_TOUR = 2.0
"""CPU seconds per tour: a program's limit is this times the number of search tours, for all of them together."""
SECONDS_TO_COMPILE = 8.0
"""CPU seconds that the first call may take besides: numba compiles a local search over tours in 6 to 7 s."""
CALLS = 2 * sum(size - 2 for size in SIZES["search"])
"""Number of calls of the function on all search instances together."""
BEST: dict[Split, tuple[float, ...]] = {
    "search": (10.638555, 5.646526, 13.264768, 8.297621, 16.418515, 10.436508),
    "validation": (12.015765, 8.040378, 14.951798, 9.560358),
    "held-out": (10.722355, 6.449832, 13.180281, 8.214507, 14.871385, 9.259908, 16.681526, 11.065864),
}
"""Lengths of the shortest known tours of each split's instances, in order: by the heuristic LKH 3, not proved best."""


class HardTravellingSalesman(TravellingSalesman):
    """Find short closed tours through all of some hundred cities, built one city at a time from city 0.

    At each step the function receives the current city, the city where the tour ends (0), the unvisited cities in
    ascending order of their distance from the current one, and the matrix of distances between all cities; it returns
    the city to visit next. The choice must follow from these alone: nothing is kept from one call to the next. The
    score is the mean length of the tours: the shorter the better.
    """

    search_size = f"{2 * len(SIZES['search'])} instances of {SIZES['search'][0]} to {SIZES['search'][-1]} cities"
    used_by = ""
    shifted = ""
    sizes = ()
    rules = f"""\
- There are {2 * len(SIZES["search"])} instances: of {", ".join(map(str, SIZES["search"]))} cities two each, first one
  whose cities are drawn uniformly from the unit square, then one whose cities lie in clusters of about
  {A_CLUSTER}.
- The function is called for each city but the first and the last of a tour, {CALLS} times in all; at the first call
  of a tour both `current_node` and `destination_node` are 0. It is told distances, and neither the places of the
  cities nor the tour so far. What follows from `distance_matrix` alone is the same in every call of a tour.
- The answer must be one of `unvisited_nodes`, as an integer: a float is refused, even 3.0."""
    grammar = f"stage = 60 | 90 | 140 | 200 | 280 | 400\n{TOUR}"
    normaliser = 500
    timeout_s = SECONDS_A_TOUR * 2 * len(SIZES["search"])
    first_call_s = SECONDS_TO_COMPILE
    stateless = True

    objective = objective_of("minimise", BEST["search"], FOUND, UNIT)

    def instances(self, split: Split) -> Sequence[Cities]:
        """Return a uniform and a clustered map of each size of the split, in the unit square."""
        return _instances(split)

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of BEST."""
        return objective_of("minimise", BEST[split], FOUND, UNIT)


@cache
def _instances(split: Split) -> tuple[Cities, ...]:
    return maps(SEEDS[split], SIZES[split])


task = HardTravellingSalesman()
