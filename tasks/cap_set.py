"""The cap set problem, by priority: a program ranks all vectors, and a greedy choice follows its order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from behavesim_tasks.known import objective_of
from numpy.typing import NDArray

from behavesim.task import InvalidSolution, Objective, Solution, Split, Task, as_integers, as_number
from behavesim.trajectory import Trajectory

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

GRAMMAR = """
ones: scalar = el.count(1)
twos: scalar = el.count(2)
zeros: scalar = el.count(0)
mirrored: scalar = sum([el[i] == el[-1 - i] for i in range(n // 2)])
changes: scalar = sum([el[i] != el[i - 1] for i in range(n)])
half: values = el[:n // 2]
pairs: values = [(el[i] + el[i + 1]) % 3 for i in range(0, n - 1, 2)]

total = scalar | total + number * scalar | total - number * scalar | total + number * scalar | total - number * scalar
total = (total if scalar > total else total) | total * scalar | number * total | total - abs(scalar - number)
scalar = sum([test for i in range(n)]) | sum([test for i in range(n)]) | sum([item for i in range(n)])
scalar = sum([item for i in range(n)]) | values.count(value) | scalar % modulus | scalar * scalar | el[place]
scalar = sum([test for i in range(first, n, 2)]) | (scalar % modulus == value) | abs(scalar - scalar)
values = el | half | pairs | el[::2] | el[1::2] | [(el[i] - el[i - step]) % 3 for i in range(n)]
test = (el[i] != el[i - step]) | (el[i] < el[i - step]) | (el[i] == value) | ((el[i] + el[i - step]) % 3 == value)
test = (test and test) | (test or test) | (el[i] == el[i - step] == value) | (i % modulus == value and test)
item = (0, number, number)[el[i]] | (0, number, number)[(el[i] - el[i - step]) % 3] | el[i] * el[i - step] | i * el[i]
item = el[i] * 3 ** i % modulus | (el[i] + el[i - step]) % 3 | (el[i] * el[i - step] * el[i - 1]) % 3
value = 0 | 1 | 2
modulus = 2 | 3 | 4 | 5
step = 1 | 2 | 3 | 4
place = 0 | 1 | 2 | 3 | 4
first = 0 | 1

score: total
return float(score)
"""
"""Grammar of the offline proposer: counts of values, and of patterns of neighbouring values."""

DIMENSIONS: dict[Split, tuple[int, ...]] = {"search": (8,), "validation": (6,), "held-out": (4, 5, 7)}
"""Number of dimensions of each instance, by split."""
LARGEST = {4: 20, 5: 45, 6: 112, 7: 236, 8: 512}
"""Size of the largest cap set known, by dimension; up to 6 it is proved that none is larger."""
SOURCE = "FunSearch (2023) for n = 8, and Edel (2004) below; proved up to n = 6"
"""Where LARGEST is from."""
UNIT = "size of the set"
"""What scores are numbers of."""


@dataclass(frozen=True)
class Space:
    """One instance: the space of all vectors of n values 0, 1 and 2."""

    n: int

    @cached_property
    def vectors(self) -> tuple[tuple[int, ...], ...]:
        """All vectors in lexicographic order; 6 561 for n = 8."""
        return tuple(product(range(3), repeat=self.n))

    def thirds(self, vector: int, others: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the vector that lies on one line with a vector and each of the others, all as indices."""
        powers = 3 ** np.arange(self.n)
        digits = others[:, None] // powers % 3
        return np.asarray(((-(vector // powers % 3) - digits) % 3) @ powers)


class CapSet(Task):
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
    grammar = GRAMMAR
    objective = Objective("maximise", 512.0, SOURCE, UNIT)
    normaliser = 512
    score_scale = 20.0

    def instances(self, split: Split) -> Sequence[Space]:
        """Return the instances of a split."""
        return [Space(n) for n in DIMENSIONS[split]]

    def in_words(self, instance: Space, decision: int) -> str:
        """Return the chosen vector as a phrase such as "the vector 01200201"."""
        return f"the vector {''.join(map(str, instance.vectors[decision]))}"

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known score is the mean of LARGEST."""
        known = [LARGEST[n] for n in DIMENSIONS[split]]
        return objective_of("maximise", known, SOURCE, UNIT)

    def solve(self, function: Callable[..., Any], instance: Space) -> Solution:
        """Return the vectors in the order in which they are chosen, as indices, (chosen,) int64.

        Raises InvalidSolution if a priority is not a finite number.
        """
        priorities = [as_number(function(vector, instance.n), "a number as priority") for vector in instance.vectors]
        free, chosen = np.ones(len(priorities), bool), np.empty(len(priorities), np.int64)
        count = 0
        for vector in sorted(range(len(priorities)), key=priorities.__getitem__, reverse=True):  # sorted is stable
            if free[vector]:
                free[instance.thirds(vector, chosen[:count])] = False
                chosen[count] = vector
                count += 1
        return chosen[:count].copy()

    def score(self, instance: Space, solution: Solution) -> float:
        """Return the size of the set; raises InvalidSolution if three of its vectors lie on a line."""
        return float(len(_checked(instance, solution)))

    def trajectory(self, instance: Space, solution: Solution) -> Trajectory:
        """Return the growing set: state i is the first i + 1 vectors; raises InvalidSolution as `score` does."""
        return Trajectory.prefixes(_checked(instance, solution))


def _checked(instance: Space, solution: Solution) -> NDArray[np.int64]:
    chosen = as_integers(solution, len(instance.vectors), "vectors of the set")
    if not len(chosen) or len(np.unique(chosen)) != len(chosen):
        raise InvalidSolution("expected vectors of the set, at least one and each once")
    for place, vector in enumerate(chosen.tolist()):
        if np.isin(instance.thirds(vector, chosen[:place]), chosen).any():
            raise InvalidSolution("expected a cap set, three of its vectors lie on a line")
    return chosen


task = CapSet()
