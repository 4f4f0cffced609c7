"""The admissible set problem in FunSearch's symmetric construction: a priority decides the order of a greedy choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, combinations_with_replacement, product
from typing import Any

import numpy as np

from behavesim.task import InvalidSolution, Objective, Solution, Split, Task, as_integers, as_number
from behavesim.trajectory import Trajectory

TEMPLATE = '''\
import math

import numpy as np


def priority(el: tuple[int, ...], n: int, w: int) -> float:
    """
    Returns the priority with which we want to add `el` to the set.
    Args:
        el: the unique vector has the same number w of non-zero elements.
        n : length of the vector.
        w : number of non-zero elements.
    """
    return 0.
'''

GRAMMAR = """
groups: triples = [el[i:i + 3] for i in range(0, n, 3)]
ones: scalar = el.count(1)
changes: scalar = sum([el[i] != el[i - 1] for i in range(n)])
rises: scalar = sum([g[0] < g[2] for g in groups])
voids: scalar = sum([el[i] == el[i - 1] == 0 for i in range(n)])
empty: scalar = sum([sum(g) == 0 for g in groups])
full: scalar = sum([0 not in g for g in groups])

total = scalar | total + number * scalar | total - number * scalar | total + number * scalar | total - number * scalar
total = (total if scalar > total else total) | (total if groups[which] == triple else total) | total * scalar
total = number * total + number * total | total - abs(scalar - number) | max(total, total)
scalar = sum([test for i in range(n)]) | sum([test for i in range(n)]) | sum([test for i in range(first, n, 3)])
scalar = sum([item for i in range(n)]) | sum([item for i in range(n)]) | sum([item for i in range(first, n, 3)])
scalar = sum([check for g in groups]) | sum([pair for g, h in zip(groups, groups[1:])]) | groups.count(triple)
scalar = scalar * scalar | scalar ** 2 | abs(scalar - scalar) | el[place]
test = (el[i] != el[i - step]) | (el[i] < el[i - step]) | (el[i] == value) | ((el[i] - el[i - step]) % 3 == turn)
test = (test and test) | (test or test) | (el[i] == el[i - step] == value) | ((el[i] - el[i - step]) % 3 == turn)
item = (0, number, number)[el[i] - el[i - step]] | (0, number, number)[el[i] - el[i - step]] | el[i] * el[i - step]
item = (0, number, number)[el[i]] | abs(el[i] - el[i - step]) | el[i] * el[i + step] | i * el[i] | i * (test)
check = (sum(g) == few) | (g.count(value) == few) | (g[0] < g[1]) | (g[1] < g[2]) | (g[0] < g[2])
check = (g == triple) | (check or check)
pair = (g == h) | (sum(g) < sum(h)) | abs(sum(g) - sum(h)) | (g < h) | (g[first] == h[first])
triple = (0, 0, 1) | (0, 0, 2) | (0, 1, 2) | (0, 2, 1) | (1, 1, 1) | (2, 2, 2)
value = 0 | 1 | 2
turn = 1 | 2
few = 1 | 2 | 3 | 4
first = 0 | 1 | 2
step = 1 | 2 | 3 | 4 | 5 | 6 | 7
which = 0 | 1 | 2 | -1
place = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8

score: total
return score
"""
"""Grammar of the offline proposer: counts over a vector and its groups. One rule reads past the end, as models may."""

SYMBOLS = ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 1), (1, 1, 1), (2, 2, 2))
"""The values that a group of three coordinates may have: one for each class of rotations in the construction."""
SEPARATING = frozenset({(0, 1, 2), (0, 0, 1), (0, 0, 2)})
"""Sorted triples of values: any three vectors of an admissible set have one of these in some coordinate."""
SIZES: dict[Split, tuple[tuple[int, int], ...]] = {
    "search": ((15, 10),),
    "validation": ((12, 7),),
    "held-out": ((12, 8), (15, 9), (18, 13)),
}
"""The (n, w) of each instance, by split: length of the vectors and number of their non-zero values."""
REACHED = "optimal: one vector for each support, as FunSearch found"
"""How the best known sizes are known."""
Row = tuple[int, ...]
"""A vector that a program ranks, as the index into SYMBOLS of each of its groups of three coordinates."""
Values = tuple[int, ...]
"""The coordinates of a vector or of a group, each 0, 1 or 2."""


@dataclass(frozen=True)
class AdmissibleSets:
    """One instance: vectors of length n (a multiple of 3) with w non-zero values.

    A candidate *row* has one symbol, an index into SYMBOLS, for each group of three coordinates. Picking it adds the
    vectors of all rotations of all its groups to the set.
    """

    n: int
    w: int

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All candidate rows in lexicographic order; there are 2 432 for n = 15, w = 10."""
        weights = [3 - symbol.count(0) for symbol in SYMBOLS]
        rows = product(range(len(SYMBOLS)), repeat=self.n // 3)
        return tuple(row for row in rows if sum(weights[symbol] for symbol in row) == self.w)

    @cached_property
    def vectors(self) -> tuple[Values, ...]:
        """The vector of each row, which a priority function receives: the values of its symbols one after another."""
        return tuple(tuple(value for symbol in row for value in SYMBOLS[symbol]) for row in self.rows)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of vectors that each row adds to the set."""
        return tuple(math.prod(len(_rotations(symbol)) for symbol in row) for row in self.rows)

    @cached_property
    def twins(self) -> dict[tuple[int, ...], int]:
        """The rows with each tuple of group weights, as a bit set (bit i is row i); only one of them may be picked."""
        twins: dict[tuple[int, ...], int] = {}
        for index, row in enumerate(self.rows):
            weights = self.group_weights(row)
            twins[weights] = twins.get(weights, 0) | 1 << index
        return twins

    @cached_property
    def clashing(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """At [group][a][b], the rows whose symbol in that group makes a bad triple with a and b, as a bit set."""
        symbols = range(len(SYMBOLS))
        thirds = [[[c for c in symbols if tuple(sorted((a, b, c))) in bad_triples()] for b in symbols] for a in symbols]
        clashing = []
        for symbols_of_rows in zip(*self.rows, strict=True):
            having = [sum(1 << index for index, each in enumerate(symbols_of_rows) if each == c) for c in symbols]
            # no row has two symbols in a group, so the sum of such sets is their union
            clashing.append(tuple(tuple(sum(having[c] for c in third) for third in row) for row in thirds))
        return tuple(clashing)

    @staticmethod
    def group_weights(row: Row) -> tuple[int, ...]:
        """Return the number of non-zero values in each group of a row."""
        return tuple(3 - SYMBOLS[symbol].count(0) for symbol in row)


def _rotations(symbol: int) -> tuple[Values, ...]:
    a, b, c = SYMBOLS[symbol]
    return tuple(dict.fromkeys([(a, b, c), (c, a, b), (b, c, a)]))


@cache
def bad_triples() -> frozenset[tuple[int, int, int]]:
    """Return the sorted triples of symbols that have rotations without a coordinate that tells the three apart.

    A row contains all combinations of rotations of its groups. So three rows cannot be in the set together if and only
    if the triple of their symbols is bad in every group.
    """
    return frozenset(
        triple
        for triple in combinations_with_replacement(range(len(SYMBOLS)), 3)
        if any(
            not any(tuple(sorted(values)) in SEPARATING for values in zip(*rotated, strict=True))
            for rotated in product(*(_rotations(symbol) for symbol in triple))
        )
    )


class Blocking:
    """Tracks which rows still fit a growing set of picked rows.

    A row fits if no pick has its group weights, and no two picks make a triple with it that is bad in every group.
    """

    def __init__(self, instance: AdmissibleSets) -> None:
        self._instance = instance
        self._picks: list[Row] = []
        self._blocked = 0

    def fits(self, index: int) -> bool:
        """Whether the row with this index may still be picked."""
        return not self._blocked >> index & 1

    def pick(self, index: int) -> None:
        """Add the row with this index to the set, and block the rows that it excludes."""
        row = self._instance.rows[index]
        blocked = self._blocked | self._instance.twins[self._instance.group_weights(row)]
        # the pick's part of the table, looked up once for all earlier picks; all sets of rows are bit sets, for speed
        by_group = [symbols[symbol] for symbols, symbol in zip(self._instance.clashing, row, strict=True)]
        for earlier in self._picks:
            bad = -1  # all rows
            for symbols, symbol in zip(by_group, earlier, strict=True):
                bad &= symbols[symbol]
            blocked |= bad
        self._picks.append(row)
        self._blocked = blocked


def _digits(values: Values) -> str:
    return "".join(map(str, values))


class AdmissibleSet(Task):
    """Find large admissible sets: ternary vectors of length n with w non-zero values and supports all different.

    For any three different vectors of the set there must be a coordinate with the values {0, 1, 2}, {0, 0, 1} or
    {0, 0, 2}. A candidate vector stands for all that arise by rotating its groups of three coordinates. All candidates
    are ordered by the function's priority, greatest first, and each is added with its rotations if the set stays
    admissible. The score is the number of vectors in the set: the more the better.
    """

    kind = "priority"
    search_size = "1 instance: n = {}, w = {}".format(*SIZES["search"][0])
    used_by = "FunSearch, BehaveSim (the paper)"
    template = TEMPLATE
    rules = f"""\
- The search has one instance: n = {SIZES["search"][0][0]}, w = {SIZES["search"][0][1]}.
  Later, on other instances, n is a multiple of 3 too.
- A group is three neighbouring coordinates: 0 to 2, 3 to 5, and so on. In every candidate vector each group is one of
  {", ".join(map(_digits, SYMBOLS))}.
- A group with different values has three rotations (012, 201, 120), one with equal values has one. A candidate brings
  all combinations of the rotations of its groups: the product of these numbers is the count of vectors that it adds.
- The function is called once for each candidate vector (2 432 of them) before any is chosen. It sees neither
  the other candidates nor the set.
- The priority must be a finite number: inf and NaN are refused. Among equal priorities the first in lexicographic order
  goes first."""
    grammar = GRAMMAR
    objective = Objective("maximise", 3003.0, REACHED, unit="size of the set")
    normaliser = 101
    score_scale = 100.0
    budget = 10_000
    niche_radius = 0.7

    def instances(self, split: Split) -> Sequence[AdmissibleSets]:
        """Return the instances of a split: n = 15, w = 10 for the search, other sizes for the others."""
        return _instances(split)

    def in_words(self, instance: AdmissibleSets, decision: int) -> str:
        """Return the vector of the picked row as a phrase such as "the vector 012000111"."""
        return f"the vector {_digits(instance.vectors[decision])}"

    def choice_in_words(self, instance: AdmissibleSets, before: Sequence[int], decision: int) -> str:
        """Return the vector of the picked row, and how many vectors it adds to the set."""
        return f"{self.in_words(instance, decision)}, which adds {instance.sizes[decision]}"

    def cost_so_far(self, instance: AdmissibleSets, decisions: Sequence[int]) -> Sequence[float]:
        """Return the size of the set after each pick."""
        return list(accumulate(float(instance.sizes[index]) for index in decisions))

    def objective_on(self, split: Split) -> Objective:
        """Return the objective of a split; its best known size is the number of supports, None for held-out sizes.

        No set can be larger than that number, and on the other two splits sets of that size are known.
        """
        reached = {"search": math.comb(15, 10), "validation": math.comb(12, 7)}
        return Objective("maximise", reached.get(split), REACHED)

    def solve(self, function: Callable[..., Any], instance: AdmissibleSets) -> Solution:
        """Return the rows picked greedily by priority, (picks,) int64 indices in order of picking.

        Raises InvalidSolution if a priority is not a finite number.
        """
        priorities = [
            as_number(function(vector, instance.n, instance.w), "a number as priority") for vector in instance.vectors
        ]
        blocking = Blocking(instance)
        picks = []
        for index in sorted(range(len(priorities)), key=priorities.__getitem__, reverse=True):  # sorted is stable
            if blocking.fits(index):
                blocking.pick(index)
                picks.append(index)
        return np.array(picks, dtype=np.int64)

    def score(self, instance: AdmissibleSets, solution: Solution) -> float:
        """Return the number of vectors in the set; raises InvalidSolution if picks or set are not valid."""
        picks = _checked(instance, solution)
        blocking = Blocking(instance)
        for position, index in enumerate(picks):
            if not blocking.fits(index):
                raise InvalidSolution(f"pick {position}, row {index}: the set would not be admissible with it")
            blocking.pick(index)
        return float(sum(instance.sizes[index] for index in picks))

    def trajectory(self, instance: AdmissibleSets, solution: Solution) -> Trajectory:
        """Return the growing set: state i is the first i + 1 picks; raises InvalidSolution if one is not a row."""
        return Trajectory.prefixes(_checked(instance, solution))


@cache
def _instances(split: Split) -> tuple[AdmissibleSets, ...]:
    return tuple(AdmissibleSets(n, w) for n, w in SIZES[split])


def _checked(instance: AdmissibleSets, solution: Solution) -> list[int]:
    picks: list[int] = as_integers(solution, len(instance.rows), "picks").tolist()
    if not picks:
        raise InvalidSolution("expected at least one pick")
    return picks


task = AdmissibleSet()
