"""Facility location without capacities, by priority: a program ranks the sites that could open next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from behavesim_tasks.grammars import RANKING
from behavesim_tasks.known import objective_of
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Solution, Split, Task, as_integers, first_greatest
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import numpy as np


def priority(opening: np.ndarray, costs: np.ndarray, paid: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each site is opened next; the site of greatest priority is, if that is above 0.
    Args:
        opening: Cost of opening each closed site, shape (sites,).
        costs: Cost of serving each customer from each of these sites, shape (sites, customers).
        paid: Cost of serving each customer now, from the open sites, shape (customers,).

    Return:
        Array of shape (sites,) with the priority of each; if none is above 0, no more is opened.
    """
    return np.maximum(paid - costs, 0).sum(axis=1) - opening
'''

GRAMMAR = f"""
savings: matrix = np.maximum(paid - costs, 0)
saved: vector = savings.sum(axis=1)
price: vector = 1.0 * opening
gain: vector = saved - opening
served: vector = 1.0 * (costs < paid).sum(axis=1)
far: vector = costs.mean(axis=1)
second: row = np.sort(costs, axis=0)[1] if len(costs) > 1 else costs[0]
regret: vector = np.maximum(np.minimum(second, paid) - costs, 0).sum(axis=1)
share: vector = saved / (served + 1)
sure: vector = np.where(saved > opening, 1.0, 0.0)

vector = gain | gain | np.where(saved > number * price, vector, -1) | gain - number * price
vector = regret | price | far | served | share | saved / price | regret - price | sure * vector | gain + number * regret
{RANKING}"""
"""Grammar of the offline proposer: what a site saves, what it costs, and whom it alone serves well."""

SIZES: dict[Split, tuple[tuple[int, int], ...]] = {
    "search": ((40, 100),) * 6,
    "validation": ((30, 60), (30, 60), (40, 100)),
    "held-out": ((30, 60),) * 2 + ((40, 100),) * 3 + ((60, 150),) * 2,
}
"""Numbers of sites and customers of each instance, by split."""
SEEDS: dict[Split, int] = {"search": 8024, "validation": 8025, "held-out": 8026}
"""Seed of numpy's legacy generator, which draws the places of a split: its numbers never change."""
OPTIMA: dict[Split, tuple[int, ...]] = {
    "search": (22426, 20645, 22482, 21669, 21211, 20764),
    "validation": (14856, 15148, 20845),
    "held-out": (14155, 14976, 19734, 21316, 23013, 28089, 27390),
}
"""Least total cost of each instance, in order."""
PROVED = "optimal, by HiGHS"
"""How OPTIMA are known."""
UNIT = "total cost"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Sites:
    """One instance: `opening` (sites,) and `costs` of serving (sites, customers), int64, in thousandths of the unit."""

    opening: NDArray[np.int64] = field(repr=False)
    costs: NDArray[np.int64] = field(repr=False)


class FacilityLocation(Task):
    """Open sites so that opening them and serving each customer from the nearest open one costs the least.

    At each step the function receives the closed sites, their costs of opening and of serving each customer, and what
    serving the customers costs now. It returns a priority for each; the site of greatest priority is opened, and this
    ends when no priority is above 0. The first site is opened in any case. The score is the mean total cost: the less
    the better.
    """

    kind = "priority"
    search_size = "{} instances of {} sites and {} customers".format(len(SIZES["search"]), *SIZES["search"][0])
    template = TEMPLATE
    rules = f"""\
- There are {len(SIZES["search"])} instances of {SIZES["search"][0][0]} sites and {SIZES["search"][0][1]} customers,
  drawn uniformly from the unit square. Serving costs 1000 times the distance, opening 500 to 2500, in whole numbers.
- Before a site is open, `paid` is what each customer would pay from the farthest site.
- The function is called before each choice, with arrays of its own.
- The answer must have one number for each site. The greatest must be finite; of equal ones the first site is opened."""
    grammar = GRAMMAR
    objective = objective_of("minimise", OPTIMA["search"], PROVED, UNIT)
    normaliser = 30
    score_scale = 200.0

    def instances(self, split: Split) -> Sequence[Sites]:
        """Return the instances of a split: sites and customers uniform in the unit square."""
        random = np.random.RandomState(SEEDS[split])
        return [_drawn(random, *size) for size in SIZES[split]]

    def in_words(self, instance: Sites, decision: int) -> str:
        """Return the opened site as a phrase such as "site 7, opened for 912"."""
        return f"site {decision}, opened for {instance.opening[decision]}"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of OPTIMA."""
        return objective_of("minimise", OPTIMA[split], PROVED, UNIT)

    def solve(self, function: Callable[..., Any], instance: Sites) -> Solution:
        """Return the sites in the order of opening, (opened,) int64.

        Raises InvalidSolution if an answer is not one number for each site, or its greatest is not finite.
        """
        closed, paid = np.arange(len(instance.opening)), instance.costs.max(axis=0)
        opened: list[int] = []
        while len(closed):
            answer = function(instance.opening[closed], instance.costs[closed], paid.copy())
            place = first_greatest(answer, len(closed))
            if opened and np.asarray(answer)[place] <= 0:
                break
            opened.append(closed[place])
            paid = np.minimum(paid, instance.costs[closed[place]])
            closed = np.delete(closed, place)
        return np.array(opened, dtype=np.int64)

    def score(self, instance: Sites, solution: Solution) -> float:
        """Return the cost of opening and serving; raises InvalidSolution if no site opens, or one does twice."""
        opened = _checked(instance, solution)
        return float(instance.opening[opened].sum() + instance.costs[opened].min(axis=0).sum())

    def trajectory(self, instance: Sites, solution: Solution) -> Trajectory:
        """Return the growing set: state i is the first i + 1 sites; raises InvalidSolution as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def _drawn(random: np.random.RandomState, sites: int, customers: int) -> Sites:
    places, homes = random.rand(sites, 2), random.rand(customers, 2)
    distances = np.sqrt(((places[:, None] - homes[None]) ** 2).sum(axis=-1))
    opening = random.randint(500, 2501, size=sites).astype(np.int64)
    return Sites(opening, np.rint(1000 * distances).astype(np.int64))


def _checked(instance: Sites, solution: Solution) -> NDArray[np.int64]:
    opened = as_integers(solution, len(instance.opening), "opened sites")
    if not len(opened) or len(np.unique(opened)) != len(opened):
        raise InvalidSolution("expected opened sites, at least one and each once")
    return opened


task = FacilityLocation()
