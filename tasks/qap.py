"""Quadratic assignment, by priority: a program ranks the placements of a facility at a location."""

from dataclasses import dataclass, field

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import QAP
from behavesim_tasks.decisions import DecisionTask, Drawn, Function, Integers, Random, Sizes

from behavesim.task import InvalidSolution, Solution, as_integers, first_greatest

TEMPLATE = '''\
import numpy as np


def priority(added: np.ndarray, flows: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each facility is placed at each location next; the greatest one is done.
    Args:
        added: What each placement costs, with the facilities placed so far, shape (facilities, locations).
        flows: Flows between the facilities that are left, symmetric, shape (facilities, facilities).
        distances: Distances between the free locations, symmetric, shape (locations, locations).

    Return:
        Array of the same shape as added with the priority of each placement.
    """
    return -added
'''

# Sides of the grid of locations of each instance, by split; as many facilities are placed.
SIDES: Sizes = {
    "search": ((4, 5),) * 6,
    "validation": ((3, 4), (3, 5), (4, 5), (4, 5)),
    "held-out": ((3, 4), (3, 5), (4, 5), (4, 5), (5, 5), (5, 5)),
}


@dataclass(frozen=True)
class Sites:
    """One instance: `flows` between facilities and `distances` between locations, both symmetric (n, n) int64."""

    flows: Integers = field(repr=False)
    distances: Integers = field(repr=False)


class QuadraticAssignment(Drawn, DecisionTask):
    """Place facilities at locations so that the flow between facilities travels a short way.

    The cost of two facilities is their flow times the distance of their locations. At each step the function receives
    what each placement of a facility that is left at a free location would add, the flows between these facilities and
    the distances between these locations. It returns a priority for each placement; the one of greatest priority is
    done. The score is the mean cost over all pairs: the less the better.
    """

    kind = "priority"
    search_size = "6 instances of 20 facilities"
    used_by = "LLM4AD: other instances"
    template = TEMPLATE
    rules = """\
- There are 6 instances of 20 facilities. The locations are a grid of
  4 by 5 with distances along its lines. A third of the flows is 0, the others are whole numbers from 1 to 10.
- The function is called 20 times for an instance, with arrays of its own. At the first call `added` is all zeros.
- The answer must have the shape of `added`. The greatest must be finite; of equal ones the first, row by row,
  is done."""
    grammar = grammars.QAP
    best_known = QAP
    objective = QAP.objective("minimise", "total cost")
    normaliser = 20
    score_scale = 50.0

    seed, kinds = 11024, SIDES

    @staticmethod
    def draw(random: Random, height: int, width: int) -> Sites:
        """Return an instance on a grid of these sides, drawn as Nugent, Vollmann and Ruml (1968) do.

        A flow is 0 with probability 1/3, else 1 to 10. Distances go along the grid's lines.
        """
        row, column = np.divmod(np.arange(height * width), width)
        distances = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
        flows = np.triu(random.randint(1, 11, size=distances.shape) * (random.rand(*distances.shape) < 2 / 3), 1)
        return Sites((flows + flows.T).astype(np.int64), distances.astype(np.int64))

    def in_words(self, instance: Sites, decision: int) -> str:
        """Return the placement `decision`, facility * n + location, as in "facility 3 at location 7"."""
        return "facility {} at location {}".format(*divmod(decision, len(instance.flows)))

    def solve(self, function: Function, instance: Sites) -> Solution:
        """Return the placements, facility * n + location, (n,).

        Raises InvalidSolution for unusable priorities, ValueError for rows of different lengths.
        """
        n = len(instance.flows)
        facilities, locations, placements = np.arange(n), np.arange(n), []
        added = np.zeros((n, n), np.int64)
        while len(facilities):
            of, at = np.ix_(facilities, facilities), np.ix_(locations, locations)
            costs = added[np.ix_(facilities, locations)]
            answer = np.asarray(function(costs, instance.flows[of], instance.distances[at]))
            if answer.shape != (len(facilities), len(locations)):
                raise InvalidSolution(f"expected priorities of shape {(len(facilities),) * 2}, got {answer.shape}")
            row, column = divmod(first_greatest(answer.ravel(), answer.size), len(locations))
            facility, location = facilities[row], locations[column]
            added += instance.flows[:, facility, None] * instance.distances[location]
            facilities, locations = np.delete(facilities, row), np.delete(locations, column)
            placements.append(facility * n + location)
        return np.array(placements, dtype=np.int64)

    def checked(self, instance: Sites, solution: Solution) -> Integers:
        """Return the placements as int64; raises InvalidSolution unless each facility and location is in one."""
        n = len(instance.flows)
        placements = as_integers(solution, n * n, f"{n} placements", n)
        facilities, locations = np.divmod(placements, n)
        if len(np.unique(facilities)) != n or len(np.unique(locations)) != n:
            raise InvalidSolution(f"expected {n} placements with each facility and each location once")
        return placements

    def score(self, instance: Sites, solution: Solution) -> float:
        """Return the cost of all pairs; raises InvalidSolution for an invalid solution."""
        facilities, locations = np.divmod(self.checked(instance, solution), len(instance.flows))
        flows = instance.flows[np.ix_(facilities, facilities)]
        return float((flows * instance.distances[np.ix_(locations, locations)]).sum() // 2)


task = QuadraticAssignment()
