"""A task of your own: the programs that a search writes, and how they are judged.

Change what the comments that say CHANGE are about, then try it out, before any model is asked:

    behavesim task check NAME.py
    behavesim run NAME.py --budget 200
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import behavesim as bs

CAPACITY = 50.0
ITEMS = 40

# CHANGE the program that every search starts from. Its last function is the one to be improved; its docstring is all
# that a model learns about the arguments, so say what they are and which way is better.
TEMPLATE = '''
import numpy as np


def priority(weight: float, value: float, room: float) -> float:
    """
    Returns how much we want to pack this item next; the highest goes in.
    Args:
        weight: Weight of the item.
        value: Value of the item.
        room: Capacity that is left.
    """
    return value
'''


class Knapsack(bs.Task):
    """Fill a knapsack of capacity 50 with items of the greatest total value.

    Items are packed one by one: of those that still fit, the one with the highest priority goes in. The score is the
    value in the knapsack, averaged over several knapsacks: the more the better.
    """

    # CHANGE: the docstring above is what a prompt says of the problem.
    template = TEMPLATE
    objective = bs.Objective("maximise")  # and best_known=… where it is known, so that gaps can be shown
    normaliser = ITEMS  # the greatest distance two solutions can have: no list of decisions is longer

    def instances(self, split: bs.Split) -> Sequence[np.ndarray]:
        """CHANGE the problems: the search sees the first split only, and every call must give the same."""
        seed = {"search": 1, "validation": 2, "held-out": 3}[split]
        return [np.random.default_rng([seed, number]).uniform(1, 10, (ITEMS, 2)) for number in range(5)]

    def solve(self, priority: Callable[..., Any], items: np.ndarray) -> np.ndarray:
        """CHANGE how a program solves one problem. Runs in the sandbox, and returns a solution and nothing else."""
        room, packed = CAPACITY, []
        left = list(range(len(items)))
        while fitting := [i for i in left if items[i, 0] <= room]:
            best = max(fitting, key=lambda i: float(priority(float(items[i, 0]), float(items[i, 1]), room)))
            left.remove(best)
            packed.append(best)
            room -= items[best, 0]
        return np.array(packed)

    def score(self, items: np.ndarray, solution: Any) -> float:
        """CHANGE what a solution is worth. Trusted code: the program may have returned anything, so check all of it."""
        packed = np.asarray(solution)
        if packed.ndim != 1 or packed.dtype.kind not in "iu" or not np.isin(packed, np.arange(len(items))).all():
            raise bs.InvalidSolution("a solution is a list of item numbers")
        if len(np.unique(packed)) != len(packed):
            raise bs.InvalidSolution("an item can be packed once")
        if items[packed, 0].sum() > CAPACITY:
            raise bs.InvalidSolution("the items weigh more than the knapsack takes")
        return float(items[packed, 1].sum())

    def trajectory(self, items: np.ndarray, solution: Any) -> bs.Trajectory:
        """CHANGE how the solution came about: here state i is the first i + 1 items that were packed."""
        return bs.Trajectory.prefixes(solution)


task = Knapsack()
