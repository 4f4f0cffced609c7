"""Tasks whose solution is a row of decisions: what most of the built-in tasks have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

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
# Kinds that are no matter of chance: there is one instance of each size.
FIXED = ("queens", "published")


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


class Drawn(Task):
    """A built-in task whose instances are drawn at random, so that there is one for every number.

    Further instances, beyond a split's own, are of the kinds of the held-out split: mixed as there, whatever the size
    of the search instances. Those of "shifted" are of its own kinds.
    """

    endless = True
    seed: int
    """Seed of the search instances, and one more for each later split."""
    kinds: Sizes
    """For each split a tuple for each of its instances, with which `draw` is called."""
    draw: ClassVar[Callable[..., Any]]
    """Static method that draws one instance of a kind: `draw(random, *kind)`."""

    def instances(self, split: Split) -> Sequence[Any]:
        """Return the instances of a split, drawn in order by one generator."""
        random = Random(self.seed + ORDER.index(split))
        return tuple(self.draw(random, *kind) for kind in self.kinds[split])

    def instance(self, split: Split, number: int) -> Any:
        """Return an instance by number: of the split, or beyond it one drawn by a generator of its own."""
        if number < len(self.kinds[split]):
            return self.instances(split)[number]
        kinds = [kind for kind in self.kinds["shifted" if split == "shifted" else "held-out"] if kind[0] not in FIXED]
        # neighbours in the list are alike; in steps of some .4 of it, any few numbers in a row are of all kinds
        step = next(step for step in count(1 + 2 * len(kinds) // 5) if math.gcd(step, len(kinds)) == 1)
        return self.draw(Random([self.seed, ORDER.index(split), number]), *kinds[number * step % len(kinds)])
