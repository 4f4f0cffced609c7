"""Facility location without capacities, by priority: a program ranks the sites that could open next."""

from dataclasses import dataclass, field

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import FACILITY_LOCATION
from behavesim_tasks.decisions import DecisionTask, Drawn, Function, Integers, Random, Sizes

from behavesim.task import Solution, as_subset, first_greatest

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

# Numbers of sites and customers of each instance, by split.
SIZES: Sizes = {
    "search": ((100, 100),) * 6,
    "validation": ((60, 60), (60, 60), (100, 100)),
    "held-out": ((60, 60),) * 2 + ((100, 100),) * 3 + ((150, 150),) * 2,
}


@dataclass(frozen=True)
class Sites:
    """One instance: `opening` (sites,) and `costs` of serving (sites, customers), int64."""

    opening: Integers = field(repr=False)
    costs: Integers = field(repr=False)


class FacilityLocation(Drawn, DecisionTask):
    """Open sites so that opening them and serving each customer from the nearest open one costs the least.

    At each step the function receives the closed sites, their costs of opening and of serving each customer, and what
    serving the customers costs now. It returns a priority for each; the site of greatest priority is opened, and this
    ends when no priority is above 0. The first site is opened in any case. The score is the mean total cost: the less
    the better.
    """

    kind = "priority"
    search_size = "6 instances of 100 sites and 100 customers"
    template = TEMPLATE
    rules = """\
- There are 6 instances of 100 sites and 100 customers. Opening costs 2000 to 4000, serving 0 to 10000,
  in whole numbers. Each cost is drawn independently: sites and customers have no places.
- Before a site is open, `paid` is what each customer would pay from the farthest site.
- The function is called before each choice, with arrays of its own.
- The answer must have one number for each site. The greatest must be finite; of equal ones the first site is opened."""
    grammar = grammars.FACILITY_LOCATION
    best_known = FACILITY_LOCATION
    objective = FACILITY_LOCATION.objective("minimise", "total cost")
    normaliser = 100  # all sites of an instance
    score_scale = 500.0

    seed, kinds = 8024, SIZES

    @staticmethod
    def draw(random: Random, sites: int, customers: int) -> Sites:
        """Return an instance of these sizes, drawn too hard for integer programming within the time limit.

        No cost says anything of another, as in the class "uniform" of Kochetov and Ivanenko (2003): relaxations of
        places in the plane are nearly whole, and theirs are not.
        """
        opening = random.randint(2000, 4001, size=sites).astype(np.int64)
        return Sites(opening, random.randint(0, 10_001, size=(sites, customers)).astype(np.int64))

    def in_words(self, instance: Sites, decision: int) -> str:
        """Return the opened site `decision` as a phrase such as "site 7, opened for 912"."""
        return f"site {decision}, opened for {instance.opening[decision]}"

    def solve(self, function: Function, instance: Sites) -> Solution:
        """Return the sites in the order of opening, (opened,) int64; raises InvalidSolution for unusable priorities."""
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

    def checked(self, instance: Sites, solution: Solution) -> Integers:
        """Return the opened sites as int64; raises InvalidSolution if no site opens, or one opens twice."""
        return as_subset(solution, len(instance.opening), "opened sites")

    def score(self, instance: Sites, solution: Solution) -> float:
        """Return the cost of opening sites and serving customers; raises InvalidSolution for an invalid solution."""
        opened = self.checked(instance, solution)
        return float(instance.opening[opened].sum() + instance.costs[opened].min(axis=0).sum())


task = FacilityLocation()
