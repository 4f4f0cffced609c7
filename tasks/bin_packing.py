"""Bin packing online: a program decides for each item, as it comes, which of the open bins takes it."""

from __future__ import annotations

import lzma
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import cleandoc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.task import Bins, InvalidSolution, Objective, Solution, Split, Task, as_integers, first_greatest, ranked
from behavesim.trajectory import Trajectory

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

GRAMMAR = """
room: vector = bins - item
filled: vector = 100 - bins
ratio: vector = item / bins
unused: vector = 1.0 * (bins == 100)

vector = -room | -room | vector + number * vector | vector - number * vector | vector + vector | vector - vector
vector = vector * vector | vector / (np.abs(vector) + 1) | np.minimum(vector, vector) | np.maximum(vector, vector)
vector = np.where(room < size, vector, vector) | np.where(vector > vector, vector, vector) | scalar * vector
vector = (vector if item > size else vector) | np.abs(room - size) | -np.abs(room - size) | np.sqrt(np.abs(vector))
vector = np.exp(-np.abs(vector) / size) | np.tanh(vector / size) | np.log1p(np.abs(vector)) | vector ** 2
vector = np.where(room == 0, size, vector) | vector - size * unused | (bins - size) % item
scalar = number | item | size | bins.min() | bins.mean() | scalar / size | scalar + scalar | scalar - scalar
size = 1 | 2 | 3 | 5 | 7 | 10 | 13 | 16 | 20 | 25 | 30 | 35 | 40 | 50 | 60

score: vector
return score
"""

CAPACITY = 100
"""Capacity of a bin, in the unit of the items' sizes."""
BOUNDS = "lower bounds: the sum of the sizes divided by the capacity"
"""What stands for the best known score."""
COMPARED = 100
"""Number of items, the first ones, whose bins are the trajectory: comparing all 5000 would take too long."""

SIZES: dict[Split, tuple[int, ...]] = {
    "search": (5000,) * 5,
    "validation": (1000, 1000, 5000, 5000),
    "held-out": (500, 1000, 2000, 5000, 10_000),
}
"""Number of items of each instance drawn from the Weibull distribution, by split."""
SHIFTED = ((1000, 14, 66), (5000, 14, 66), (1000, 1, 50), (5000, 1, 50), (5000, 10, 40))
"""Number of items, smallest and largest size of each shifted instance, whose sizes are uniform."""
PUBLISHED = "weibull5k.xz"
"""File of FunSearch's five instances "Weibull 5k" (DeepMind, CC BY 4.0), a byte for each of their 5000 items."""
SEEDS: dict[Split, int] = {"search": 2024, "validation": 2025, "held-out": 2026, "shifted": 2027}
"""Seed of numpy's legacy generator, which draws the items of a split: its numbers never change."""


@dataclass(frozen=True)
class Items:
    """One instance: the sizes of the items in the order in which they come, (items,) int64 in 1…100."""

    sizes: NDArray[np.int64] = field(repr=False)

    @property
    def lower_bound(self) -> int:
        """The sum of the sizes divided by the capacity, rounded up: no packing uses fewer bins."""
        return -(-int(self.sizes.sum()) // CAPACITY)


class OnlineBinPacking(Task):
    """Pack items that come one by one into as few bins of capacity 100 as possible.

    For each item the function receives its size and the remaining capacities of the bins that it fits into: the opened
    ones in the order in which they were opened, and an empty one at the end. It returns a priority for each; the item
    goes into the first bin of greatest priority and stays there. The score is the mean number of bins used: the fewer
    the better.
    """

    kind = "priority"
    search_size = f"{len(SIZES['search'])} instances of {SIZES['search'][0]} items"
    shifted = "sizes uniform in 14…66, 1…50 and 10…40"
    sizes: tuple[str, ...] = ("weibull5k",)
    used_by = "FunSearch, EoH, ReEvo, LLM4AD: other instances of this distribution"
    template = TEMPLATE
    rules = f"""\
- There are {len(SIZES["search"])} instances of {SIZES["search"][0]} items each. Sizes are whole numbers from 1 to
  {CAPACITY}, drawn from a Weibull distribution of shape 3 and scale 45.
- The function is called once for each item, {sum(SIZES["search"])} times in all, with up to a few hundred bins: use
  numpy, not a loop over bins.
- The answer must have the shape of `bins`. The greatest priority must be finite; -inf leaves a bin out, NaN is refused.
  Among equal priorities the first bin is taken."""
    grammar = GRAMMAR
    objective = Objective("minimise", 2011.4, BOUNDS, unit="mean number of bins")
    normaliser = COMPARED
    score_scale = 10.0
    online = True

    def instances(self, split: Split) -> Sequence[Items]:
        """Return the instances of a split; sizes are Weibull distributed (shape 3, scale 45), rounded into 1…100.

        Those of the shifted split are uniform.
        """
        return _instances(split)

    def in_words(self, instance: Items, decision: int) -> str:
        """Return the chosen bin as a phrase such as "bin 3"; bins count from 1 in the order of their opening."""
        return f"bin {decision + 1}"

    def choice_in_words(self, instance: Items, before: Sequence[int], decision: int) -> str:
        """Return the chosen bin with its rank among those that fit, and the room in it afterwards."""
        size, opened = int(instance.sizes[len(before)]), max(before, default=-1) + 1
        room = CAPACITY - np.bincount(before, instance.sizes[: len(before)], minlength=opened + 1)[: opened + 1]
        fits, left = room[room >= size], int(room[decision]) - size
        rank = ranked(1 + int((fits < room[decision]).sum()), "fullest")
        what = "a new bin" if decision == opened else f"bin {decision + 1}, {rank}"
        return f"{what} of {len(fits)} that fit an item of {size}, which leaves {left}"

    def instance_name(self, instance: Items) -> str:
        """Return the number of items."""
        return f"{len(instance.sizes)} items"

    def cost_so_far(self, instance: Items, decisions: Sequence[int]) -> Sequence[float]:
        """Return the number of bins opened after each item; a trajectory has the first 100 items alone."""
        opened = np.maximum.accumulate(np.asarray(decisions)) + 1
        return [float(bins) for bins in opened]

    def picture(self, instance: Items) -> Bins:
        """Return what a packing of the first 100 items is drawn with: their sizes and the capacity of a bin."""
        return Bins(tuple(instance.sizes[:COMPARED].tolist()), CAPACITY)

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of the lower bounds."""
        bounds = [items.lower_bound for items in self.instances(split)]
        return Objective("minimise", math.fsum(bounds) / len(bounds), BOUNDS)

    def solve(self, function: Callable[..., Any], instance: Items) -> Solution:
        """Return the bin of each item in order, (items,) int64; bins are numbered from 0 as they are opened.

        Raises InvalidSolution if an answer is not an array of one number for each bin, or its greatest is not finite.
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

    def score(self, instance: Items, solution: Solution) -> float:
        """Return the number of bins used; raises InvalidSolution if the solution is not a valid packing."""
        return float(_checked(instance, solution).max() + 1)

    def trajectory(self, instance: Items, solution: Solution) -> Trajectory:
        """Return the choices one by one: state i is the bins of the first i + 1 items, for the first 100 items.

        Raises InvalidSolution if the solution is not a valid packing.
        """
        return Trajectory.prefixes(_checked(instance, solution)[:COMPARED])


class PublishedBinPacking(OnlineBinPacking):
    """The same task, whose held-out instances are FunSearch's five "Weibull 5k"."""

    description = cleandoc(OnlineBinPacking.__doc__ or "")
    used_by = "FunSearch: the same held-out instances, searched on others of the distribution"
    sizes = ()

    def instances(self, split: Split) -> Sequence[Items]:
        """Return the usual instances of a split, but for held-out FunSearch's five."""
        return _published() if split == "held-out" else _instances(split)


@cache
def _instances(split: Split) -> tuple[Items, ...]:
    random = np.random.RandomState(SEEDS[split])
    if split == "shifted":
        return tuple(Items(_kept(random.randint(least, most + 1, count))) for count, least, most in SHIFTED)
    return tuple(Items(_weibull_sizes(random, count)) for count in SIZES[split])


@cache
def _published() -> tuple[Items, ...]:
    from importlib.resources import files  # found by the package, so that a copy of this file finds it, too

    sizes = np.frombuffer(lzma.decompress(files("behavesim_tasks").joinpath(PUBLISHED).read_bytes()), np.uint8).reshape(
        -1, 5000
    )
    return tuple(Items(_kept(each)) for each in sizes)


def _weibull_sizes(random: np.random.RandomState, count: int) -> NDArray[np.int64]:
    return _kept(np.clip(np.rint(45 * random.weibull(3, count)), 1, CAPACITY))


def _kept(drawn: NDArray[Any]) -> NDArray[np.int64]:
    sizes = drawn.astype(np.int64)
    sizes.setflags(write=False)  # instances are cached and shared
    return sizes


def _checked(instance: Items, solution: Solution) -> NDArray[np.int64]:
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


task = OnlineBinPacking()
weibull5k = PublishedBinPacking()
