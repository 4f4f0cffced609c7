"""Tasks whose solution is a row of decisions: what most of the built-in tasks have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from behavesim_tasks.best_known import ORDER, Known
from numpy.typing import NDArray

from behavesim.task import Objective, Solution, Split, Task
from behavesim.trajectory import Trajectory

# The function that a program defines. It takes and returns what the task's template says.
Function = Callable[..., Any]
# An array of int64.
Integers = NDArray[np.int64]
# numpy's legacy generator: what it draws from a seed is the same in every version of numpy.
Random = np.random.RandomState
# For each split a tuple for each of its instances: the arguments that draw it, such as its number of items.
Sizes = Mapping[Split, Sequence[tuple[Any, ...]]]
T = TypeVar("T")


class DecisionTask(Task):
    """A built-in task whose solution is the decisions of a program in their order, a row of integers."""

    apart = True
    """Programs answer from a process of their own.

    In that of `solve` a program could rearrange the decisions once they are made: many a solution has the same score in
    another order, so a new trajectory would cost nothing.
    """
    best_known: Known
    """The best scores known of the instances of all splits; `objective` has those of the search."""

    @abstractmethod
    def checked(self, instance: Any, solution: Solution) -> Integers:
        """Return a solution's decisions as one row of int64; raises InvalidSolution if they break a rule."""

    def trajectory(self, instance: Any, solution: Solution) -> Trajectory:
        """Return the growing solution, prefixes of what `decisions_to_compare` returns; raises what `checked` does."""
        return Trajectory.prefixes(self.decisions_to_compare(instance, self.checked(instance, solution)))

    def decisions_to_compare(self, instance: Any, decisions: Integers) -> Integers:
        """Return what trajectories compare of a solution: by default the decisions themselves, all of them."""
        return decisions

    def objective_on(self, split: Split) -> Objective:
        """Return the objective on a split; its `best_known` is the mean of those there, None if they are not known."""
        return self.best_known.objective(self.objective.direction, self.objective.unit, split)


def draw_split(draw: Callable[..., T], seed: int, sizes: Sizes, split: Split) -> list[T]:
    """Return `draw(random, *size)` for each of a split's sizes, in order: its instances, or what they are made of.

    `random` is one generator for all of them. Its seed is `seed` for the search, and one more for each later split.
    """
    random = Random(seed + ORDER.index(split))
    return [draw(random, *size) for size in sizes[split]]
