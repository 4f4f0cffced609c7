"""Bin packing with all items known: a program chooses what goes next into the open bin."""

from dataclasses import dataclass, field

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import OFFLINE_BIN_PACKING
from behavesim_tasks.decisions import DecisionTask, Drawn, Function, Integers, Random, Sizes

from behavesim.task import Solution, as_permutation, first_greatest

TEMPLATE = '''\
import numpy as np


def priority(fitting: np.ndarray, room: int, waiting: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each item goes into the open bin next; the item of greatest priority does.
    Args:
        fitting: Size of each item that fits into the open bin, greatest first, shape (items,).
        room: Capacity that is left in the bin.
        waiting: Sizes of all items that are not packed, greatest first.

    Return:
        Array of shape (items,) with the priority of each.
    """
    return fitting
'''

# Class and number of items of each instance, by split.
SIZES: Sizes = {
    "search": (("triplets", 60), ("uniform", 120)) * 5,
    "validation": (("triplets", 60), ("triplets", 90), ("uniform", 120), ("uniform", 120)),
    "held-out": (("triplets", 60), ("triplets", 120), ("triplets", 180), ("uniform", 120), ("uniform", 250)),
}


@dataclass(frozen=True)
class Items:
    """One instance: the `sizes` of the items, (items,) int64, greatest first, and the capacity of a bin."""

    sizes: Integers = field(repr=False)
    capacity: int


class OfflineBinPacking(Drawn, DecisionTask):
    """Pack items, all of them known, into as few bins as possible, one bin after another.

    At each step the function receives the items that fit into the open bin, its room, and all items that wait. It
    returns a priority for each fitting item; the one of greatest priority goes in. When no item fits, the bin is closed
    and an empty one is opened. The score is the mean number of bins: the fewer the better.
    """

    kind = "priority"
    search_size = "10 instances of 60 and 120 items"
    used_by = "Falkenauer (1996), EoH, LLM4AD: other instances"
    template = TEMPLATE
    rules = """\
- There are 10 instances. Five hold 60 items of 250 to 500, three of which fill a bin of 1000 exactly, so that 20 bins
  suffice. Five hold 120 items drawn uniformly from 20 to 100, for bins of 150.
- The function is called for each item, 900 times in all, with arrays of its own; equal sizes are offered each.
- The answer must have one number for each fitting item. The greatest must be finite; of equal ones the first goes
  in."""
    grammar = grammars.OFFLINE_BIN_PACKING
    best_known = OFFLINE_BIN_PACKING
    objective = OFFLINE_BIN_PACKING.objective("minimise", "number of bins")
    normaliser = 120
    score_scale = 0.5

    seed, kinds = 7024, SIZES

    @staticmethod
    def draw(random: Random, name: str, items: int) -> Items:
        """Return items of uniform sizes or triplets, drawn as Falkenauer (1996) does; greatest first.

        Three items of "triplets" fill a bin exactly: their number is rounded up to a multiple of 3.
        """
        if name == "uniform":
            return Items(-np.sort(-random.randint(20, 101, size=items).astype(np.int64)), 150)
        sizes: list[int] = []
        while len(sizes) < items:
            first = random.randint(380, 491)
            second = random.randint(250, (1000 - first) // 2 + 1)
            sizes += [first, second, 1000 - first - second]
        return Items(-np.sort(-np.array(sizes, dtype=np.int64)), 1000)

    def in_words(self, instance: Items, decision: int) -> str:
        """Return an item of the size `decision` as a phrase such as "an item of 312"."""
        return f"an item of {decision}"

    def solve(self, function: Function, instance: Items) -> Solution:
        """Return the items in the order of packing, (items,) int64; raises InvalidSolution for unusable priorities."""
        sizes, order = instance.sizes, []
        waiting, room = np.arange(len(sizes)), instance.capacity
        while len(waiting):
            fitting = waiting[sizes[waiting] <= room]
            if not len(fitting):
                fitting, room = waiting, instance.capacity
            item = fitting[first_greatest(function(sizes[fitting], room, sizes[waiting]), len(fitting))]
            room -= int(sizes[item])
            waiting = waiting[waiting != item]
            order.append(item)
        return np.array(order, dtype=np.int64)

    def checked(self, instance: Items, solution: Solution) -> Integers:
        """Return the order of the items as int64; raises InvalidSolution unless it has every item once."""
        return as_permutation(solution, len(instance.sizes), f"an order of {len(instance.sizes)} items")

    def score(self, instance: Items, solution: Solution) -> float:
        """Return the number of bins; raises InvalidSolution for an invalid order."""
        # an item that does not fit opens the next bin, so an order is enough to know the bins
        bins, room = 1, instance.capacity
        for size in instance.sizes[self.checked(instance, solution)].tolist():
            if size > room:
                bins, room = bins + 1, instance.capacity
            room -= size
        return float(bins)

    def decisions_to_compare(self, instance: Items, decisions: Integers) -> Integers:
        """Return the sizes of the items in the order of packing: items of one size are exchangeable."""
        return instance.sizes[decisions]


task = OfflineBinPacking()
