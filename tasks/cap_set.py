"""The cap set problem, by priority: a program ranks all vectors, and a greedy choice follows its order."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.best_known import CAP_SET
from behavesim_tasks.decisions import DecisionTask, Function, Integers

from behavesim.task import InvalidSolution, Solution, Split, as_number, as_subset

TEMPLATE = '''\
import math

import numpy as np


def priority(el: tuple[int, ...], n: int) -> float:
    """
    Returns the priority with which we want to add `el` to the cap set.
    Args:
        el: A vector of n values, each 0, 1 or 2.
        n: Number of dimensions.
    """
    return 0.0
'''

# Number of dimensions of each instance, by split.
DIMENSIONS: dict[Split, tuple[int, ...]] = {"search": (8,), "validation": (6,), "held-out": (4, 5, 7)}


@dataclass(frozen=True)
class Space:
    """One instance: the space of all vectors of n values 0, 1 and 2."""

    n: int

    @cached_property
    def vectors(self) -> tuple[tuple[int, ...], ...]:
        """All vectors in lexicographic order; 6 561 for n = 8."""
        return tuple(product(range(3), repeat=self.n))

    def thirds(self, vector: int, others: Integers) -> Integers:
        """Return, for each of `others`, the vector on one line with it and `vector`; all are indices into `vectors`."""
        powers = 3 ** np.arange(self.n)
        digits = others[:, None] // powers % 3
        return np.asarray(((-(vector // powers % 3) - digits) % 3) @ powers)


class CapSet(DecisionTask):
    """Find large cap sets: sets of vectors of n values 0, 1, 2, no three of which lie on a line.

    Three different vectors lie on a line if in each coordinate their values are all equal or all different. All vectors
    are ordered by the function's priority, greatest first, and each is added if the set stays a cap set. The score is
    the number of vectors in the set: the more the better.
    """

    kind = "priority"
    search_size = "1 instance: n = {}".format(*DIMENSIONS["search"])
    used_by = "FunSearch: the same instance"
    template = TEMPLATE
    rules = """\
- The search has one instance: n = 8. Others have another n.
- The function is called once for each of the 6 561 vectors before any is chosen. It sees neither the others nor the
  set.
- The priority must be a finite number: inf and NaN are refused. Among equal priorities the first in lexicographic order
  goes first."""
    grammar = grammars.CAP_SET
    best_known = CAP_SET
    objective = CAP_SET.objective("maximise", "size of the set")
    normaliser = 512
    score_scale = 20.0

    def instances(self, split: Split) -> list[Space]:
        """Return the instances of a split."""
        return [Space(n) for n in DIMENSIONS[split]]

    def in_words(self, instance: Space, decision: int) -> str:
        """Return the vector with the index `decision` as a phrase such as "the vector 01200201"."""
        return f"the vector {''.join(map(str, instance.vectors[decision]))}"

    def solve(self, function: Function, instance: Space) -> Solution:
        """Return the vectors' indices as chosen, (chosen,) int64; raises InvalidSolution for a non-finite priority."""
        priorities = [as_number(function(vector, instance.n), "a number as priority") for vector in instance.vectors]
        free, chosen = np.ones(len(priorities), bool), np.empty(len(priorities), np.int64)
        count = 0
        for vector in sorted(range(len(priorities)), key=priorities.__getitem__, reverse=True):  # sorted is stable
            if free[vector]:
                free[instance.thirds(vector, chosen[:count])] = False
                chosen[count] = vector
                count += 1
        return chosen[:count].copy()

    def checked(self, instance: Space, solution: Solution) -> Integers:
        """Return the vectors' indices as int64; raises InvalidSolution for none, a repeated one, or three on a line."""
        chosen = as_subset(solution, len(instance.vectors), "vectors of the set")
        for place, vector in enumerate(chosen.tolist()):
            if np.isin(instance.thirds(vector, chosen[:place]), chosen).any():
                raise InvalidSolution("expected a cap set, three of its vectors lie on a line")
        return chosen

    def score(self, instance: Space, solution: Solution) -> float:
        """Return the size of the set; raises InvalidSolution for an invalid solution."""
        return float(len(self.checked(instance, solution)))


task = CapSet()
