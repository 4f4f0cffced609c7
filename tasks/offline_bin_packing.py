"""Bin packing with all items known: a program chooses what goes next into the open bin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from behavesim_tasks.grammars import RANKING
from numpy.typing import NDArray

from behavesim.task import Objective, Solution, Split, Task, as_permutation, first_greatest
from behavesim.trajectory import Trajectory

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

GRAMMAR = f"""
size: vector = 1.0 * fitting
rest: vector = 1.0 * (room - fitting)
smallest: scalar = waiting.min()
partner: vector = np.array([waiting[waiting <= r].max(initial=0) for r in room - fitting])
pair: vector = size + partner
closes: vector = 1.0 * np.isin(room - fitting, waiting)
dead: vector = 1.0 * ((rest > 0) & (rest < smallest))
many: vector = np.array([(waiting == s).sum() for s in fitting])
third: vector = np.array([(waiting[:, None] + waiting)[(waiting[:, None] + waiting) <= r].max(initial=0) for r in rest])
triple: vector = size + third

vector = size | size | pair | -rest | closes | many | partner | size + number * pair | -dead | pair - number * dead
vector = np.maximum(pair, triple) | triple | vector + number * triple | vector + number * pair
scalar = room | smallest
{RANKING}"""
"""Grammar of the offline proposer: sizes, and how well one or two more items would close the bin."""

SIZES: dict[Split, tuple[tuple[str, int], ...]] = {
    "search": (("triplets", 60), ("uniform", 120)) * 5,
    "validation": (("triplets", 60), ("triplets", 90), ("uniform", 120), ("uniform", 120)),
    "held-out": (("triplets", 60), ("triplets", 120), ("triplets", 180), ("uniform", 120), ("uniform", 250)),
}
"""Class and number of items of each instance, by split."""
SEEDS: dict[Split, int] = {"search": 7024, "validation": 7025, "held-out": 7026}
"""Seed of numpy's legacy generator, which draws the items of a split: its numbers never change."""
BOUNDS = "lower bounds: the sum of the sizes divided by the capacity; of triplets it is the optimum"
"""What stands for the best known score."""


@dataclass(frozen=True)
class Items:
    """One instance: the `sizes` of the items, (items,) int64, greatest first, and the capacity of a bin."""

    sizes: NDArray[np.int64] = field(repr=False)
    capacity: int

    @property
    def lower_bound(self) -> int:
        """The sum of the sizes divided by the capacity, rounded up: no packing uses fewer bins."""
        return -(-int(self.sizes.sum()) // self.capacity)


class OfflineBinPacking(Task):
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
    grammar = GRAMMAR
    objective = Objective("minimise", 34.3, BOUNDS, "number of bins")
    normaliser = 120
    score_scale = 0.5

    def instances(self, split: Split) -> Sequence[Items]:
        """Return the instances of a split: triplets and uniform sizes, drawn as Falkenauer (1996) does."""
        random = np.random.RandomState(SEEDS[split])
        return [(_triplets if kind == "triplets" else _uniform)(random, count) for kind, count in SIZES[split]]

    def in_words(self, instance: Items, decision: int) -> str:
        """Return the packed size as a phrase such as "an item of 312"."""
        return f"an item of {decision}"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of the lower bounds."""
        bounds = [items.lower_bound for items in self.instances(split)]
        return Objective("minimise", math.fsum(bounds) / len(bounds), BOUNDS, "number of bins")

    def solve(self, function: Callable[..., Any], instance: Items) -> Solution:
        """Return the items in the order of packing, (items,) int64; what does not fit is the first of the next bin.

        Raises InvalidSolution if an answer is not one number for each item, or its greatest is not finite.
        """
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

    def score(self, instance: Items, solution: Solution) -> float:
        """Return the number of bins; raises InvalidSolution if the solution does not have every item once."""
        bins, room = 1, instance.capacity
        for size in instance.sizes[_checked(instance, solution)].tolist():
            if size > room:
                bins, room = bins + 1, instance.capacity
            room -= size
        return float(bins)

    def trajectory(self, instance: Items, solution: Solution) -> Trajectory:
        """Return the sizes as they are packed: state i is the first i + 1; raises InvalidSolution as `score` does."""
        return Trajectory.prefixes(instance.sizes[_checked(instance, solution)])


def _triplets(random: np.random.RandomState, count: int) -> Items:
    sizes: list[int] = []
    while len(sizes) < count:
        first = random.randint(380, 491)
        second = random.randint(250, (1000 - first) // 2 + 1)
        sizes += [first, second, 1000 - first - second]
    return Items(-np.sort(-np.array(sizes, dtype=np.int64)), 1000)


def _uniform(random: np.random.RandomState, count: int) -> Items:
    return Items(-np.sort(-random.randint(20, 101, size=count).astype(np.int64)), 150)


def _checked(instance: Items, solution: Solution) -> NDArray[np.int64]:
    return as_permutation(solution, len(instance.sizes), f"an order of {len(instance.sizes)} items")


task = OfflineBinPacking()
