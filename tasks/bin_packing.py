"""Bin packing online: a program decides for each item, as it comes, which of the open bins takes it."""

import lzma
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from inspect import cleandoc
from typing import Any

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import BIN_PACKING, BIN_PACKING_WEIBULL5K
from behavesim_tasks.decisions import DecisionTask, Drawn, Function, Integers, Random, Sizes

from behavesim.task import Bins, InvalidSolution, Solution, Split, as_integers, first_greatest, rank_words

TEMPLATE = '''\
import numpy as np


def priority(item: float, bins: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which we want to add the item to each bin.
    Args:
        item: Size of the item to be added.
        bins: Array of the remaining capacities of the bins that the item fits into.

    Return:
        Array of the same size as bins with the priority of each.
    """
    return -(bins - item)
'''

# Capacity of a bin, in the unit of the items' sizes.
CAPACITY = 100
# Number of items, the first ones, whose bins are the trajectory: comparing all 5000 would take too long.
COMPARED = 100

# Number of items of each instance, by split; if their sizes are uniform, also the smallest and the largest size.
SIZES: Sizes = {
    "search": ((5000,),) * 5,
    "validation": ((1000,),) * 2 + ((5000,),) * 2,
    "held-out": ((500,), (1000,), (2000,), (5000,), (10_000,)),
    "shifted": ((1000, 14, 66), (5000, 14, 66), (1000, 1, 50), (5000, 1, 50), (5000, 10, 40)),
}
# File of FunSearch's five instances "Weibull 5k" (DeepMind, CC BY 4.0), a byte for each of their 5000 items.
PUBLISHED = "weibull5k.xz"


@dataclass(frozen=True)
class Items:
    """One instance: the sizes of the items in the order in which they come, (items,) int64 in 1…100."""

    sizes: Integers = field(repr=False)


class OnlineBinPacking(Drawn, DecisionTask):
    """Pack items that come one by one into as few bins of capacity 100 as possible.

    For each item the function receives its size and the remaining capacities of the bins that it fits into: the opened
    ones in the order in which they were opened, and an empty one at the end. It returns a priority for each; the item
    goes into the first bin of greatest priority and stays there. The score is the mean number of bins used: the fewer
    the better.
    """

    kind = "priority"
    search_size = "5 instances of 5000 items"
    shifted = "sizes uniform in 14…66, 1…50 and 10…40"
    sizes: tuple[str, ...] = ("weibull5k",)
    used_by = "FunSearch, EoH, ReEvo, LLM4AD: other instances of this distribution"
    template = TEMPLATE
    rules = f"""\
- There are 5 instances of 5000 items each. Sizes are whole numbers from 1 to
  {CAPACITY}, drawn from a Weibull distribution of shape 3 and scale 45.
- The function is called once for each item, 25000 times in all, with up to a few hundred bins: use
  numpy, not a loop over bins.
- The answer must have the shape of `bins`. The greatest priority must be finite; -inf leaves a bin out, NaN is refused.
  Among equal priorities the first bin is taken."""
    grammar = grammars.BIN_PACKING
    best_known = BIN_PACKING
    objective = BIN_PACKING.objective("minimise", "mean number of bins")
    normaliser = COMPARED
    score_scale = 10.0
    online = True

    seed, kinds = 2024, SIZES

    @staticmethod
    def draw(random: Random, count: int, *uniform: int) -> Items:
        """Return so many items: Weibull distributed (shape 3, scale 45), rounded into 1…100, or uniform in a range."""
        if uniform:
            least, most = uniform
            return _items(random.randint(least, most + 1, count))
        return _items(np.clip(np.rint(45 * random.weibull(3, count)), 1, CAPACITY))

    def in_words(self, instance: Items, decision: int) -> str:
        """Return the bin `decision`, from 0, as a phrase such as "bin 3", in which bins count from 1."""
        return f"bin {decision + 1}"

    def choice_in_words(self, instance: Items, before: Sequence[int], decision: int) -> str:
        """Return the bin `decision`, its rank among those that fit the item (a new one has none), and the room left."""
        size, opened = int(instance.sizes[len(before)]), max(before, default=-1) + 1
        room = CAPACITY - np.bincount(before, instance.sizes[: len(before)], minlength=opened + 1)[: opened + 1]
        fits, left = room[room >= size], int(room[decision]) - size
        rank = rank_words(1 + int((fits < room[decision]).sum()), "fullest")
        what = "a new bin" if decision == opened else f"bin {decision + 1}, {rank}"
        return f"{what} of {len(fits)} that fit an item of {size}, which leaves {left}"

    def instance_name(self, instance: Items) -> str:
        """Return the number of items."""
        return f"{len(instance.sizes)} items"

    def cost_so_far(self, instance: Items, decisions: Sequence[int]) -> Sequence[float]:
        """Return the number of bins opened up to each item; a trajectory has the first 100 items alone."""
        opened = np.maximum.accumulate(np.asarray(decisions)) + 1
        return [float(bins) for bins in opened]

    def picture(self, instance: Items) -> Bins:
        """Return what a packing of the first 100 items is drawn with: their sizes and the capacity of a bin."""
        return Bins(tuple(instance.sizes[:COMPARED].tolist()), CAPACITY)

    def solve(self, function: Function, instance: Items) -> Solution:
        """Return the bin of each item in order, (items,) int64; bins are numbered from 0 as they are opened.

        Raises InvalidSolution unless each call returns a number for each bin that fits, the greatest of them finite.
        """
        # one bin more than items, so that there is always an empty one
        room = np.full(len(instance.sizes) + 1, float(CAPACITY))
        opened = 0
        chosen = np.empty(len(instance.sizes), dtype=np.int64)
        for place, size in enumerate(instance.sizes.tolist()):
            fitting = np.flatnonzero(room[: opened + 1] >= size)
            bin_ = fitting[first_greatest(function(float(size), room[fitting]), len(fitting))]
            room[bin_] -= size
            opened = max(opened, int(bin_) + 1)
            chosen[place] = bin_
        return chosen

    def checked(self, instance: Items, solution: Solution) -> Integers:
        """Return the bin of each item as int64; raises InvalidSolution if the solution is not a valid packing."""
        count = len(instance.sizes)
        bins = as_integers(solution, count, f"the bins of {count} items", count)
        opened = np.maximum.accumulate(bins)
        if bins[0] != 0 or np.diff(opened).max(initial=0) > 1:
            raise InvalidSolution("expected bins numbered in the order in which they are opened")
        fullest = int(np.bincount(bins, weights=instance.sizes).max())
        if fullest > CAPACITY:
            raise InvalidSolution(f"expected bins filled up to {CAPACITY}, one holds {fullest}")
        return bins

    def score(self, instance: Items, solution: Solution) -> float:
        """Return the number of bins used; raises InvalidSolution for an invalid solution."""
        return float(self.checked(instance, solution).max() + 1)

    def decisions_to_compare(self, instance: Items, decisions: Integers) -> Integers:
        """Return the bins of the first items, COMPARED of them."""
        return decisions[:COMPARED]


def _items(sizes: Any) -> Items:
    return Items(sizes.astype(np.int64))


class PublishedBinPacking(OnlineBinPacking):
    """The same task, whose held-out instances are FunSearch's five "Weibull 5k"."""

    description = cleandoc(OnlineBinPacking.__doc__ or "")
    used_by = "FunSearch: the same held-out instances, searched on others of the distribution"
    sizes = ()
    best_known = BIN_PACKING_WEIBULL5K

    def instances(self, split: Split) -> Sequence[Items]:
        """Return the usual instances of a split, but for held-out FunSearch's five."""
        if split != "held-out":
            return super().instances(split)
        packed = files("behavesim_tasks").joinpath(PUBLISHED).read_bytes()  # by the package: a copy finds it, too
        return tuple(map(_items, np.frombuffer(lzma.decompress(packed), np.uint8).reshape(-1, 5000)))


task = OnlineBinPacking()
weibull5k = PublishedBinPacking()
