"""Set cover, by priority: a program ranks the sets that cover something new."""

from dataclasses import dataclass, field

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import SET_COVER
from behavesim_tasks.decisions import DecisionTask, Drawn, Function, Integers, Random, Sizes
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Solution, as_subset, first_greatest

TEMPLATE = '''\
import numpy as np


def priority(costs: np.ndarray, covers: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each set is taken next; the set of greatest priority is.
    Args:
        costs: Cost of each set that covers an element which no set so far does, shape (sets,).
        covers: Whether each set covers each of these elements, bool of shape (sets, elements).

    Return:
        Array of shape (sets,) with the priority of each.
    """
    return covers.sum(axis=1) / costs
'''

# Numbers of elements and sets of each instance, by split.
SIZES: Sizes = {
    "search": ((750, 150),) * 5,
    "validation": ((500, 100), (750, 150), (750, 150)),
    "held-out": ((500, 100),) * 2 + ((750, 150),) * 2 + ((1000, 200),) * 2,
}

# Number of sets that cover each element. So few make relaxations weak: a third of each set will do.
COVERED_BY = 3


@dataclass(frozen=True)
class Sets:
    """One instance: `costs` (sets,) int64 above 0, and whether each set covers each element, (sets, elements) bool."""

    costs: Integers = field(repr=False)
    covers: NDArray[np.bool_] = field(repr=False)


class SetCover(Drawn, DecisionTask):
    """Cover all elements with sets of the least total cost.

    At each step the function receives the sets that cover an element which no set so far does, with their costs and
    which of these elements they cover. It returns a priority for each; the set of greatest priority is taken, until all
    elements are covered. The score is the mean cost of the sets taken: the less the better.
    """

    kind = "priority"
    search_size = "5 instances of 750 elements and 150 sets"
    used_by = "LLM4AD: other instances"
    template = TEMPLATE
    rules = """\
- There are 5 instances of 750 elements and 150 sets. Each element is in three sets, drawn at random;
  so a set covers about 15 of them. Costs are whole numbers from 50 to 100.
- The function is called before each choice, with arrays of its own. A set that is taken stays taken, even if later ones
  cover all that it covers.
- The answer must have one number for each set. The greatest must be finite; of equal ones the first set is taken."""
    grammar = grammars.SET_COVER
    best_known = SET_COVER
    objective = SET_COVER.objective("minimise", "cost of the sets")
    normaliser = 150  # all sets of an instance
    score_scale = 100.0

    seed, kinds = 6024, SIZES

    @staticmethod
    def draw(random: Random, elements: int, sets: int) -> Sets:
        """Return an instance of these sizes, drawn too hard for integer programming within the time limit.

        Every element is in COVERED_BY sets, as in Steiner triples, whose covers Fulkerson and others (1974) found hard.
        """
        covers = np.zeros((sets, elements), bool)
        for element in range(elements):
            covers[random.choice(sets, COVERED_BY, replace=False), element] = True
        return Sets(random.randint(50, 101, size=sets).astype(np.int64), covers)

    def in_words(self, instance: Sets, decision: int) -> str:
        """Return the set `decision` as a phrase such as "set 7, of cost 12"."""
        return f"set {decision}, of cost {instance.costs[decision]}"

    def solve(self, function: Function, instance: Sets) -> Solution:
        """Return the sets in the order of taking, (taken,) int64; raises InvalidSolution for unusable priorities."""
        taken, open_ = [], np.ones(instance.covers.shape[1], bool)
        while open_.any():
            offered = np.flatnonzero(instance.covers[:, open_].any(axis=1))
            answer = function(instance.costs[offered], instance.covers[np.ix_(offered, open_)])
            chosen = int(offered[first_greatest(answer, len(offered))])
            open_ &= ~instance.covers[chosen]
            taken.append(chosen)
        return np.array(taken, dtype=np.int64)

    def checked(self, instance: Sets, solution: Solution) -> Integers:
        """Return the taken sets as int64; raises InvalidSolution if one is taken twice, or they do not cover all."""
        taken = as_subset(solution, len(instance.costs), "the sets taken")
        if missing := int((~instance.covers[taken].any(axis=0)).sum()):
            raise InvalidSolution(f"expected sets that cover all elements, {missing} are not covered")
        return taken

    def score(self, instance: Sets, solution: Solution) -> float:
        """Return the cost of the sets; raises InvalidSolution for an invalid solution."""
        return float(instance.costs[self.checked(instance, solution)].sum())


task = SetCover()
