"""Set cover, by priority: a program ranks the sets that cover something new."""

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

GRAMMAR = f"""
new: vector = 1.0 * covers.sum(axis=1)
rarity: row = 1 / covers.sum(axis=0)
rare: vector = covers @ rarity
rarest: vector = (covers * rarity).max(axis=1)
cheapest: row = np.where(covers, (costs / new)[:, None], 1e9).min(axis=0)
saved: vector = covers @ cheapest
price: vector = 1.0 * costs
left: scalar = covers.shape[1]

vector = new / price | new / price | rare / price | saved / price | new | rare | rarest | saved | -price
vector = (covers @ rarity ** power) / price | new ** power / price | new / price ** power
power = 0.5 | 0.7 | 0.9 | 1.2 | 1.5 | 2 | 3
{RANKING}"""
"""Grammar of the offline proposer: new elements by cost, weighted by how few sets cover them."""

SIZES: dict[Split, tuple[tuple[int, int], ...]] = {
    "search": ((100, 400),) * 5,
    "validation": ((60, 240), (100, 400), (100, 400)),
    "held-out": ((60, 240),) * 2 + ((100, 400),) * 2 + ((150, 600),) * 2,
}
"""Numbers of elements and sets of each instance, by split."""
DENSITY = 0.04
"""Probability that a set covers an element."""
SEEDS: dict[Split, int] = {"search": 6024, "validation": 6025, "held-out": 6026}
"""Seed of numpy's legacy generator, which draws the sets of a split: its numbers never change."""
OPTIMA: dict[Split, tuple[int, ...]] = {
    "search": (284, 309, 304, 312, 226),
    "validation": (297, 278, 303),
    "held-out": (268, 304, 284, 223, 222, 253),
}
"""Cost of the cheapest cover of each instance, in order."""
PROVED = "optimal, by HiGHS"
"""How OPTIMA are known."""
UNIT = "cost of the sets"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Sets:
    """One instance: `costs` (sets,) int64 above 0, and whether each set covers each element, (sets, elements) bool."""

    costs: NDArray[np.int64] = field(repr=False)
    covers: NDArray[np.bool_] = field(repr=False)


class SetCover(Task):
    """Cover all elements with sets of the least total cost.

    At each step the function receives the sets that cover an element which no set so far does, with their costs and
    which of these elements they cover. It returns a priority for each; the set of greatest priority is taken, until all
    elements are covered. The score is the mean cost of the sets taken: the less the better.
    """

    kind = "priority"
    search_size = "{} instances of {} elements and {} sets".format(len(SIZES["search"]), *SIZES["search"][0])
    used_by = "LLM4AD: other instances"
    template = TEMPLATE
    rules = f"""\
- There are {len(SIZES["search"])} instances of {SIZES["search"][0][0]} elements and {SIZES["search"][0][1]} sets. A set
  covers about {DENSITY:.0%} of the elements. Costs are whole numbers from 1 to 100.
- The function is called before each choice, with arrays of its own. A set that is taken stays taken, even if later ones
  cover all that it covers.
- The answer must have one number for each set. The greatest must be finite; of equal ones the first set is taken."""
    grammar = GRAMMAR
    objective = objective_of("minimise", OPTIMA["search"], PROVED, UNIT)
    normaliser = 50
    score_scale = 20.0

    def instances(self, split: Split) -> Sequence[Sets]:
        """Return the instances of a split, drawn as Beasley (1987) does: every element is in two sets at least."""
        random = np.random.RandomState(SEEDS[split])
        return [_drawn(random, *size) for size in SIZES[split]]

    def in_words(self, instance: Sets, decision: int) -> str:
        """Return the set taken as a phrase such as "set 7, of cost 12"."""
        return f"set {decision}, of cost {instance.costs[decision]}"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of OPTIMA."""
        return objective_of("minimise", OPTIMA[split], PROVED, UNIT)

    def solve(self, function: Callable[..., Any], instance: Sets) -> Solution:
        """Return the sets in the order in which they are taken, (taken,) int64.

        Raises InvalidSolution if an answer is not one number for each set, or its greatest is not finite.
        """
        taken, open_ = [], np.ones(instance.covers.shape[1], bool)
        while open_.any():
            offered = np.flatnonzero(instance.covers[:, open_].any(axis=1))
            answer = function(instance.costs[offered], instance.covers[np.ix_(offered, open_)])
            chosen = int(offered[first_greatest(answer, len(offered))])
            open_ &= ~instance.covers[chosen]
            taken.append(chosen)
        return np.array(taken, dtype=np.int64)

    def score(self, instance: Sets, solution: Solution) -> float:
        """Return the cost of the sets; raises InvalidSolution if they do not cover all, or one is taken twice."""
        return float(instance.costs[_checked(instance, solution)].sum())

    def trajectory(self, instance: Sets, solution: Solution) -> Trajectory:
        """Return the growing cover: state i is the first i + 1 sets; raises InvalidSolution as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def _drawn(random: np.random.RandomState, elements: int, sets: int) -> Sets:
    covers = random.rand(sets, elements) < DENSITY
    for element in range(elements):
        covers[random.choice(sets, 2, replace=False), element] = True
    return Sets(random.randint(1, 101, size=sets).astype(np.int64), covers)


def _checked(instance: Sets, solution: Solution) -> NDArray[np.int64]:
    taken = as_integers(solution, len(instance.costs), "the sets taken")
    if len(np.unique(taken)) != len(taken):
        raise InvalidSolution("expected the sets taken, each once")
    if missing := int((~instance.covers[taken].any(axis=0)).sum()):
        raise InvalidSolution(f"expected sets that cover all elements, {missing} are not covered")
    return taken


task = SetCover()
