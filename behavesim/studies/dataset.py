"""The thirty pairs of algorithms (paper, Table 1 and appendix "Detailed Results on Algorithmic Similarity Dataset").

The authors' programs are unpublished; these are our own, chosen by the paper's description of each case. Of the fifteen
pairs of six sorts the paper has fourteen and does not name the missing one; we leave out bubble v. insertion.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np

from behavesim.code_similarity.executions import traced
from behavesim.studies.problems import PACKING, PATHS, PRODUCT, ROUTE, SORTING, TREE, Problem
from behavesim.trajectory import Trajectory

INSTANCES = 20
"""Number of instances of each problem, enough for means that hardly depend on the seed."""
SEED = 2026
"""Seed of the instances; any number, fixed so that everybody compares the programs on the same ones."""


@dataclass(frozen=True)
class Solved:
    """A program's solution of one instance, and the states that it recorded."""

    solution: Any
    """What the program returned."""
    trajectory: Trajectory
    """The states that the program recorded, in order."""


@dataclass(frozen=True)
class Program:
    """One algorithm of a pair: the function named `function` in a module of `behavesim.studies.pairs`."""

    problem: Problem
    module: str
    function: str

    @cached_property
    def call(self) -> Callable[..., Any]:
        """The function; it takes the instance's arguments, then `record`, which it calls with each state."""
        found: Callable[..., Any] = getattr(import_module(f"behavesim.studies.pairs.{self.module}"), self.function)
        return found

    @cached_property
    def source(self) -> str:
        """The function's source, named as `problem.entry`, without docstring, `record` and the calls of it."""
        lines = textwrap.dedent(inspect.getsource(self.call)).splitlines()
        # a docstring is one line there, and each call of `record` too (`pairs/__init__.py`)
        kept = (line for line in lines if not re.match(r"\s*(record\(|\"\"\")", line))
        text = "\n".join(kept).replace(", record)", ")") + "\n"
        return text.replace(f"def {self.function}(", f"def {self.problem.entry}(", 1)

    def trace(self, instance: tuple[Any, ...]) -> str:
        """Return the changes of local variables as the program solves a copy of the instance.

        Each is a line `name = value`; both the number of lines and the length of values are limited (`traced`). Raises
        what the program raises.
        """
        with traced(self.call.__code__.co_filename) as lines:
            self.call(*deepcopy(instance), lambda state: None)
        return "\n".join(lines)

    def solve(self, instance: tuple[Any, ...]) -> Solved:
        """Run the program on a copy of an instance; return its solution and a copy of each state it recorded.

        Raises what the program raises, and TrajectoryError if its states are no trajectory of the problem's kind.
        """
        states: list[Any] = []
        # Programs may change their arguments and go on changing a state that they have recorded.
        solution = self.call(*deepcopy(instance), lambda state: states.append(deepcopy(state)))
        return Solved(solution, self.problem.trajectory(states))


@dataclass(frozen=True)
class Pair:
    """Two algorithms to compare; `case` counts from 1 in each `type`, which says what they share.

    1: results and nearly the text; 2: nearly the text alone; 3: results and behaviour; 4: results alone.
    """

    type: int
    case: int
    name: str
    first: Program
    second: Program

    @property
    def label(self) -> str:
        """Type and case, such as "4.15"."""
        return f"{self.type}.{self.case}"

    @property
    def problem(self) -> Problem:
        """The problem that both programs solve."""
        return self.first.problem

    def instances(self, count: int = INSTANCES) -> list[tuple[Any, ...]]:
        """Return `count` random instances, equal for all pairs of a problem; a smaller count gives the first ones."""
        # Equal in every process, unlike `hash`, and different for each of the six problems.
        name = sum(map(ord, self.problem.name))
        return [self.problem.draw(np.random.default_rng([SEED, name, number])) for number in range(count)]


def _forms(problem: Problem, module: str, name: str) -> tuple[str, Program, Program]:
    return name, Program(problem, module, "first"), Program(problem, module, "second")


def _algorithms(problem: Problem, module: str, *pairs: tuple[str, str]) -> list[tuple[str, Program, Program]]:
    named = [(f"{a} and {b}".replace("_", "-"), a, b) for a, b in pairs]
    return [(name, Program(problem, module, a), Program(problem, module, b)) for name, a, b in named]


_SORTS = list(combinations(("bubble", "insertion", "selection", "merge", "quick", "heap"), 2))
_PATHS = (
    ("dijkstra", "bellman_ford"),
    ("bellman_ford", "queued"),
    ("bellman_ford", "floyd_warshall"),
    ("dijkstra", "floyd_warshall"),
)
_TYPES = {
    1: [
        _forms(PRODUCT, "matrix_product_loops", "matrix product, ijk and jik"),
        _forms(TREE, "breadth_first_sides", "breadth first, left and right first"),
        _forms(TREE, "depth_first_sides", "depth first, left and right first"),
    ],
    2: [
        _forms(ROUTE, "route_ends", "nearest and farthest city"),
        _forms(PACKING, "packing_slivers", "bin packing, slivers of 8 and 16"),
        _forms(PACKING, "packing_classes", "bin packing, classes from 50/30 and 40/20"),
    ],
    3: [
        _forms(TREE, "breadth_first_forms", "breadth first, recursive and iterative"),
        _forms(SORTING, "bubble_sort_forms", "bubble sort, recursive and iterative"),
        _forms(SORTING, "insertion_sort_forms", "insertion sort, recursive and iterative"),
        _forms(SORTING, "merge_sort_forms", "merge sort, recursion and stack"),
        _forms(PACKING, "first_fit_forms", "first fit, loop and search"),
        _forms(PACKING, "best_fit_forms", "best fit, loop and minimum"),
    ],
    # Without bubble and insertion sort, the first of the fifteen pairs: see above.
    4: [*_algorithms(SORTING, "sorts", *_SORTS[1:]), *_algorithms(PATHS, "shortest_paths", *_PATHS)],
}

PAIRS = tuple(Pair(of_type, case, *row) for of_type, rows in _TYPES.items() for case, row in enumerate(rows, 1))
"""All thirty pairs, in the paper's order of types and cases."""
