"""The admissible set problem in FunSearch's symmetric construction: a priority decides the order of a greedy choice."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product

import numpy as np
from behavesim_tasks import grammars
from behavesim_tasks.admissible import SYMBOLS, Blocking, Row, Values, bad_triples, group_weights, rotations
from behavesim_tasks.best_known import ASP
from behavesim_tasks.decisions import DecisionTask, Function, Integers, Sizes

from behavesim.task import InvalidSolution, Solution, Split, as_integers, as_number

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

# The (n, w) of each instance, by split: length of the vectors and number of their non-zero values.
SIZES: Sizes = {
    "search": ((15, 10),),
    "validation": ((12, 7),),
    "held-out": ((12, 8), (15, 9), (18, 13)),
}


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
        return tuple(math.prod(len(rotations(symbol)) for symbol in row) for row in self.rows)

    @cached_property
    def twins(self) -> dict[tuple[int, ...], int]:
        """The rows with each tuple of group weights, as a bit set (bit i is row i); only one of them may be picked."""
        twins: dict[tuple[int, ...], int] = {}
        for index, row in enumerate(self.rows):
            weights = group_weights(row)
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


def _digits(values: Values) -> str:
    return "".join(map(str, values))


class AdmissibleSet(DecisionTask):
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
    grammar = grammars.ASP
    best_known = ASP
    apart = False  # each of 2 432 questions would cross a pipe: 3.5 times the CPU time of a run of 10 000 candidates
    objective = ASP.objective("maximise", "size of the set")
    normaliser = 101
    score_scale = 100.0
    budget = 10_000
    niche_radius = 0.7

    def instances(self, split: Split) -> Sequence[AdmissibleSets]:
        """Return the instances of a split: n = 15, w = 10 for the search, other sizes for the others."""
        return tuple(AdmissibleSets(n, w) for n, w in SIZES[split])

    def in_words(self, instance: AdmissibleSets, decision: int) -> str:
        """Return the vector of the row `decision` as a phrase such as "the vector 012000111"."""
        return f"the vector {_digits(instance.vectors[decision])}"

    def choice_in_words(self, instance: AdmissibleSets, before: Sequence[int], decision: int) -> str:
        """Return the vector of the row `decision`, and how many vectors it adds to the set."""
        return f"{self.in_words(instance, decision)}, which adds {instance.sizes[decision]}"

    def cost_so_far(self, instance: AdmissibleSets, decisions: Sequence[int]) -> Sequence[float]:
        """Return the size of the set after each of the picked rows."""
        return list(accumulate(float(instance.sizes[index]) for index in decisions))

    def solve(self, function: Function, instance: AdmissibleSets) -> Solution:
        """Return the indices of the rows picked, (picks,) int64; raises InvalidSolution for a non-finite priority."""
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

    def checked(self, instance: AdmissibleSets, solution: Solution) -> Integers:
        """Return the picks as int64; raises InvalidSolution if one is not a row, or there is none."""
        picks = as_integers(solution, len(instance.rows), "picks")
        if not len(picks):
            raise InvalidSolution("expected at least one pick")
        return picks

    def score(self, instance: AdmissibleSets, solution: Solution) -> float:
        """Return the number of vectors in the set; raises InvalidSolution if a pick makes the set inadmissible."""
        picks: list[int] = self.checked(instance, solution).tolist()
        blocking = Blocking(instance)
        for position, index in enumerate(picks):
            if not blocking.fits(index):
                raise InvalidSolution(f"pick {position}, row {index}: the set would not be admissible with it")
            blocking.pick(index)
        return float(sum(instance.sizes[index] for index in picks))


task = AdmissibleSet()
