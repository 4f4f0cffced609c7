"""The knapsack with several resources, by priority: a program ranks the items that still fit."""

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


def priority(values: np.ndarray, weights: np.ndarray, room: np.ndarray) -> np.ndarray:
    """
    Returns the priority with which each item is packed next; the item of greatest priority goes in.
    Args:
        values: Value of each item that still fits, shape (items,).
        weights: How much of each resource it takes, shape (items, resources).
        room: How much is left of each resource, shape (resources,).

    Return:
        Array of shape (items,) with the priority of each.
    """
    return values / weights.sum(axis=1)
'''

GRAMMAR = f"""
share: matrix = weights / room
all: vector = weights.sum(axis=1)
need: vector = share.sum(axis=1)
tightest: vector = share.max(axis=1)
demand: row = weights.sum(axis=0) / room
weighted: vector = (weights * demand).sum(axis=1)
scarce: vector = share[:, demand.argmax()]
left: scalar = len(values)

vector = values / all | values / need | values / weighted | values / (need + number * tightest) | values | tightest
vector = values / (weights * demand ** power / room).sum(axis=1) | scarce
power = 1 | 2 | 3 | 4 | 6
{RANKING}"""
"""Grammar of the offline proposer: an item's value by what it takes of resources, which may be weighted by scarcity."""

RESOURCES = 5
"""Number of resources of every instance."""
SIZES: dict[Split, tuple[int, ...]] = {
    "search": (100,) * 6,
    "validation": (50, 50, 100, 100),
    "held-out": (50,) * 2 + (100,) * 4,
}
"""Number of items of each instance, by split."""
TIGHTNESS = (0.25, 0.5, 0.75)
"""Share of all items' weight that the resources hold: the instances of a split take these in turn."""
SEEDS: dict[Split, int] = {"search": 4024, "validation": 4025, "held-out": 4026}
"""Seed of numpy's legacy generator, which draws the items of a split: its numbers never change."""
OPTIMA: dict[Split, tuple[int, ...]] = {
    "search": (23235, 40661, 61207, 23708, 44752, 56943),
    "validation": (11585, 21052, 61217, 25202),
    "held-out": (11562, 21743, 61707, 22918, 43201, 59795),
}
"""Value of the best packing of each instance, in order."""
PROVED = "optimal, by CP-SAT of OR-tools"
"""How OPTIMA are known."""
UNIT = "value packed"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Items:
    """One instance: `values` (items,), `weights` (items, resources) and `room` (resources,), int64, above 0."""

    values: NDArray[np.int64] = field(repr=False)
    weights: NDArray[np.int64] = field(repr=False)
    room: NDArray[np.int64]


class Knapsack(Task):
    """Pack items of the greatest total value, with limits on five resources that each item takes some of.

    At each step the function receives the items that still fit, with their values and weights, and what is left of
    each resource. It returns a priority for each; the item of greatest priority is packed. This ends when no item fits.
    The score is the mean value packed: the more the better.
    """

    kind = "priority"
    search_size = f"{len(SIZES['search'])} instances of {SIZES['search'][0]} items and {RESOURCES} resources"
    used_by = "LLM4AD: other instances"
    template = TEMPLATE
    rules = f"""\
- There are {len(SIZES["search"])} instances of {SIZES["search"][0]} items and {RESOURCES} resources. The resources hold
  {", ".join(f"{share:.0%}" for share in TIGHTNESS)} of all items' weight in turn.
- Weights are whole numbers from 1 to 1000. Values grow with them: the mean weight, plus up to 500.
- The function is called before each choice, with arrays of its own.
- The answer must have one number for each item. The greatest must be finite; of equal ones the first item is packed."""
    grammar = GRAMMAR
    objective = objective_of("maximise", OPTIMA["search"], PROVED, UNIT)
    normaliser = 100
    score_scale = 200.0

    def instances(self, split: Split) -> Sequence[Items]:
        """Return the instances of a split, drawn as Chu and Beasley (1998) do: values follow weights loosely."""
        random = np.random.RandomState(SEEDS[split])
        return [_drawn(random, size, TIGHTNESS[at % len(TIGHTNESS)]) for at, size in enumerate(SIZES[split])]

    def in_words(self, instance: Items, decision: int) -> str:
        """Return the packed item as a phrase such as "item 7, worth 612"."""
        return f"item {decision}, worth {instance.values[decision]}"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of OPTIMA."""
        return objective_of("maximise", OPTIMA[split], PROVED, UNIT)

    def solve(self, function: Callable[..., Any], instance: Items) -> Solution:
        """Return the items in the order of packing, (packed,) int64.

        Raises InvalidSolution if an answer is not one number for each item, or its greatest is not finite.
        """
        left, room, packed = np.arange(len(instance.values)), instance.room.copy(), []
        while len(left := left[(instance.weights[left] <= room).all(axis=1)]):
            answer = function(instance.values[left], instance.weights[left], room.copy())
            item = left[first_greatest(answer, len(left))]
            room -= instance.weights[item]
            left = left[left != item]
            packed.append(item)
        return np.array(packed, dtype=np.int64)

    def score(self, instance: Items, solution: Solution) -> float:
        """Return the value packed; raises InvalidSolution if the solution is not a valid packing."""
        return float(instance.values[_checked(instance, solution)].sum())

    def trajectory(self, instance: Items, solution: Solution) -> Trajectory:
        """Return the growing packing: state i is the first i + 1 items; raises InvalidSolution as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def _drawn(random: np.random.RandomState, size: int, tightness: float) -> Items:
    weights = random.randint(1, 1001, size=(size, RESOURCES)).astype(np.int64)
    values = (weights.mean(axis=1) + random.randint(1, 501, size=size)).astype(np.int64)
    return Items(values, weights, (tightness * weights.sum(axis=0)).astype(np.int64))


def _checked(instance: Items, solution: Solution) -> NDArray[np.int64]:
    """Return the packed items as int64; raises InvalidSolution if one is packed twice, or they do not fit."""
    items = as_integers(solution, len(instance.values), "packed items")
    if not len(items):
        raise InvalidSolution("expected packed items, got none")
    if len(np.unique(items)) != len(items):
        raise InvalidSolution("expected packed items, each once")
    over = instance.weights[items].sum(axis=0) - instance.room
    if over.max() > 0:
        raise InvalidSolution(f"expected items that fit, they take {over.max()} too much of resource {over.argmax()}")
    return items


task = Knapsack()
