"""The knapsack with several resources, by priority: a program ranks the items that still fit."""

from dataclasses import dataclass, field

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import KNAPSACK
from behavesim_tasks.decisions import DecisionTask, Drawn, Function, Integers, Random, Sizes

from behavesim.task import InvalidSolution, Solution, as_subset, first_greatest

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

# Numbers of items and resources, and the share of all items' weight that the resources hold, by split.
SIZES: Sizes = {
    "search": ((100, 5, 0.25), (100, 5, 0.5), (100, 5, 0.75)) * 2,
    "validation": ((50, 5, 0.25), (50, 5, 0.5), (100, 5, 0.75), (100, 5, 0.25)),
    "held-out": ((50, 5, 0.25), (50, 5, 0.5), (100, 5, 0.75), (100, 5, 0.25), (100, 5, 0.5), (100, 5, 0.75)),
}


@dataclass(frozen=True)
class Items:
    """One instance: `values` (items,), `weights` (items, resources) and `room` (resources,), int64, above 0."""

    values: Integers = field(repr=False)
    weights: Integers = field(repr=False)
    room: Integers


class Knapsack(Drawn, DecisionTask):
    """Pack items of the greatest total value, with limits on five resources that each item takes some of.

    At each step the function receives the items that still fit, with their values and weights, and what is left of
    each resource. It returns a priority for each; the item of greatest priority is packed. This ends when no item fits.
    The score is the mean value packed: the more the better.
    """

    kind = "priority"
    search_size = "6 instances of 100 items and 5 resources"
    used_by = "LLM4AD: other instances"
    template = TEMPLATE
    rules = """\
- There are 6 instances of 100 items and 5 resources. The resources hold
  25%, 50%, 75% of all items' weight in turn.
- Weights are whole numbers from 1 to 1000. Values grow with them: the mean weight, plus up to 500.
- The function is called before each choice, with arrays of its own.
- The answer must have one number for each item. The greatest must be finite; of equal ones the first item is packed."""
    grammar = grammars.KNAPSACK
    best_known = KNAPSACK
    objective = KNAPSACK.objective("maximise", "value packed")
    normaliser = 100
    score_scale = 200.0

    seed, kinds = 4024, SIZES

    @staticmethod
    def draw(random: Random, items: int, resources: int, tightness: float) -> Items:
        """Return an instance of these sizes, drawn as Chu and Beasley (1998) do: values follow weights loosely."""
        weights = random.randint(1, 1001, size=(items, resources)).astype(np.int64)
        values = (weights.mean(axis=1) + random.randint(1, 501, size=items)).astype(np.int64)
        return Items(values, weights, (tightness * weights.sum(axis=0)).astype(np.int64))

    def in_words(self, instance: Items, decision: int) -> str:
        """Return the packed item `decision` as a phrase such as "item 7, worth 612"."""
        return f"item {decision}, worth {instance.values[decision]}"

    def solve(self, function: Function, instance: Items) -> Solution:
        """Return the items in the order of packing, (packed,) int64; raises InvalidSolution for unusable priorities."""
        left, room, packed = np.arange(len(instance.values)), instance.room.copy(), []
        while len(left := left[(instance.weights[left] <= room).all(axis=1)]):
            answer = function(instance.values[left], instance.weights[left], room.copy())
            item = left[first_greatest(answer, len(left))]
            room -= instance.weights[item]
            left = left[left != item]
            packed.append(item)
        return np.array(packed, dtype=np.int64)

    def checked(self, instance: Items, solution: Solution) -> Integers:
        """Return the packed items as int64; raises InvalidSolution for none, a repeated one, or too much weight."""
        items = as_subset(solution, len(instance.values), "packed items")
        over = instance.weights[items].sum(axis=0) - instance.room
        if over.max() > 0:
            raise InvalidSolution(
                f"expected fitting items, they take {over.max()} too much of resource {over.argmax()}"
            )
        return items

    def score(self, instance: Items, solution: Solution) -> float:
        """Return the value packed; raises InvalidSolution for an invalid solution."""
        return float(instance.values[self.checked(instance, solution)].sum())


task = Knapsack()
