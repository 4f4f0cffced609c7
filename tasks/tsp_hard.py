"""The travelling salesman with 200 to 500 cities, for programs that keep no state and have 2 s of CPU time a tour."""

from behavesim_tasks import grammars
from behavesim_tasks.best_known import TSP_HARD
from behavesim_tasks.routes import A_CLUSTER
from behavesim_tasks.tsp import UNIT, LargeTravellingSalesman, both_kinds

from behavesim.task import Split

# Numbers of cities, by split; of each there are two maps, first one with uniform cities, then one with clusters.
SIZES: dict[Split, tuple[int, ...]] = {
    "search": (200, 300, 500),
    "validation": (250, 400),
    "held-out": (200, 300, 400, 500),
}
# CPU seconds per tour: a program's limit is this times the number of search tours, for all of them together.
SECONDS_A_TOUR = 2.0
# CPU seconds that the first call may take besides: numba compiles a local search over tours in 6 to 7 s.
SECONDS_TO_COMPILE = 8.0
# Number of calls of the function on all search instances together.
CALLS = 2 * sum(size - 2 for size in SIZES["search"])


class HardTravellingSalesman(LargeTravellingSalesman):
    """Find short closed tours through all of some hundred cities, built one city at a time from city 0.

    At each step the function receives the current city, the city where the tour ends (0), the unvisited cities in
    ascending order of their distance from the current one, and the matrix of distances between all cities; it returns
    the city to visit next. The choice must follow from these alone: nothing is kept from one call to the next. The
    score is the mean length of the tours: the shorter the better.
    """

    description = ""  # this class's docstring, where `tsp:large` has that of `tsp`
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
    grammar = f"stage = 60 | 90 | 140 | 200 | 280 | 400\n{grammars.TSP}"
    normaliser = 500
    timeout_s = SECONDS_A_TOUR * 2 * len(SIZES["search"])
    first_call_s = SECONDS_TO_COMPILE
    stateless = True
    seed, kinds = 3024, both_kinds(SIZES)
    best_known = TSP_HARD
    objective = TSP_HARD.objective("minimise", UNIT)


task = HardTravellingSalesman()
