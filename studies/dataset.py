"""The thirty pairs of algorithms (paper, Table 1 and appendix "Detailed Results on Algorithmic Similarity Dataset").

The authors' programs are unpublished; these are our own, chosen by the paper's description of each case. Of the fifteen
pairs of six sorts the paper has fourteen and does not name the missing one; we leave out bubble v. insertion.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import FrameType
from typing import Any

import numpy as np
from numpy.random import Generator

from behavesim.trajectory import Trajectory

from . import graph_pairs, sorting_pairs

# The six problems of the dataset: how an instance is drawn, and what a state of a solution is.
#
# A normaliser is the largest possible distance between two states of one instance. For sequences it is their maximum
# length. For the partial sums of a matrix product, whose entries never shrink, it is the norm of the product.


MATRIX, NODES, CITIES, ITEMS, NUMBERS, VERTICES = 4, 8, 6, 50, 15, 20
"""Instance sizes: matrix rows, tree nodes, cities, items to pack, numbers to sort, graph vertices."""
# Size of a bin, in the unit of the items.
CAPACITY = 100
# Probability of an edge between two vertices, besides the tree that keeps the graph connected.
EDGES = 0.2
# Maximum edge weight; weights are integers from 1.
LONGEST = 100


@dataclass(frozen=True)
class Problem:
    """A problem that the programs of some pairs solve."""

    name: str
    entry: str
    """The function's name in sources that are compared: a usual one for the problem."""
    draw: Callable[[Generator], tuple[Any, ...]]
    """Returns a random instance: the arguments of a program."""
    trajectory: Callable[[Sequence[Any]], Trajectory]
    """Returns the trajectory of recorded states."""
    normaliser: Callable[[tuple[Any, ...], Any], float]
    """Takes an instance and its solution; returns the largest distance that two states of it can have."""


@dataclass(frozen=True)
class Node:
    """A node of a binary search tree; a child that it does not have is None."""

    value: int
    left: Node | None = None
    right: Node | None = None


def _matrices(rng: Generator) -> tuple[Any, ...]:
    return tuple(rng.integers(1, 10, (MATRIX, MATRIX)).tolist() for _ in "ab")


def _tree(rng: Generator) -> tuple[Any, ...]:
    return (_inserted(rng.permutation(NODES).tolist()),)


def _inserted(values: list[int]) -> Node | None:
    if not values:
        return None
    root, others = values[0], values[1:]
    return Node(root, _inserted([v for v in others if v < root]), _inserted([v for v in others if v > root]))


def _cities(rng: Generator) -> tuple[Any, ...]:
    places = rng.random((CITIES, 2))
    return (np.linalg.norm(places[:, None] - places[None], axis=2).tolist(),)


def _items(rng: Generator) -> tuple[Any, ...]:
    return rng.integers(10, 61, ITEMS).tolist(), CAPACITY


def _numbers(rng: Generator) -> tuple[Any, ...]:
    return (rng.permutation(NUMBERS).tolist(),)


def _graph(rng: Generator) -> tuple[Any, ...]:
    """Draw a connected undirected graph: a random tree plus each other edge with probability EDGES."""
    # Neighbours are listed in random order.
    edges = {(int(rng.integers(node)), node) for node in range(1, VERTICES)}
    edges |= {(i, j) for i in range(VERTICES) for j in range(i + 1, VERTICES) if rng.random() < EDGES}
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(VERTICES)]
    for i, j in sorted(edges):  # weights are drawn in this order, and a set has none
        weight = int(rng.integers(1, LONGEST + 1))
        neighbours[i].append((j, weight))
        neighbours[j].append((i, weight))
    return ([[edges_of[k] for k in rng.permutation(len(edges_of))] for edges_of in neighbours],)


def _flat(states: Sequence[Any]) -> Trajectory:
    return Trajectory.vectors([np.ravel(state) for state in states])


PRODUCT = Problem("matrix product", "multiply", _matrices, _flat, lambda _, product: float(np.linalg.norm(product)))
TREE = Problem("tree traversal", "traverse", _tree, Trajectory.sequences, lambda *_: NODES)
ROUTE = Problem("route", "construct", _cities, Trajectory.sequences, lambda *_: CITIES)
PACKING = Problem("bin packing", "pack", _items, Trajectory.sequences, lambda *_: ITEMS)
SORTING = Problem("sorting", "sort_numbers", _numbers, Trajectory.sequences, lambda *_: NUMBERS)
PATHS = Problem("shortest paths", "distances_from", _graph, Trajectory.sequences, lambda *_: VERTICES)


# The paper's own figures, shown beside ours.


# Table 1: the mean similarity of the pairs of types 1, 2, 3 and 4, by metric.
#
# The programs of a pair share 1: results and nearly the text; 2: nearly the text alone; 3: results and behaviour; 4:
# results alone.
SIMILARITY: Mapping[str, tuple[float, float, float, float]] = {
    "ROUGE": (0.95, 0.96, 0.70, 0.47),
    "BLEU": (0.83, 0.94, 0.42, 0.16),
    "CrystalBLEU": (0.97, 0.99, 0.68, 0.51),
    "AST": (0.96, 1.00, 0.76, 0.57),
    "CodeBLEU": (0.97, 0.94, 0.91, 0.75),
    "CodeBERTScore": (0.84, 0.97, 0.60, 0.38),
    "Jina-Code-Embedding": (0.99, 0.99, 0.90, 0.84),
    "Qwen3-Embedding-0.6B": (0.94, 0.93, 0.87, 0.73),
    "execution results": (1.00, 0.00, 1.00, 1.00),
    "traces + BLEU": (0.86, 0.95, 0.61, 0.54),
    "traces + Jina-Code-Embedding": (1.00, 1.00, 0.87, 0.77),
    "traces + Qwen3-Embedding-0.6B": (0.99, 1.00, 0.91, 0.78),
    "BehaveSim": (0.56, 0.73, 1.00, 0.46),
}

# BehaveSim of each case, in order, by type of pair (appendix "Detailed Results").
#
# The paper does not say which pair is which case of type 4.
CASES: Mapping[int, tuple[float, ...]] = {
    1: (0.32, 0.69, 0.68),
    2: (0.70, 0.90, 0.59),
    3: (1.00, 1.00, 1.00, 1.00, 1.00, 1.00),
    4: (0.64, 0.49, 0.79, 0.69, 0.44, 0.42, 0.46, 0.45, 0.64, 0.44, 0.51, 0.36, 0.78, 0.29, 0.37, 0.35, 0.00, 0.05),
}

# Mean BehaveSim of the pairs of types 1, 2, 3 and 4, by (k, n). k is the share that is cut off at the end of
# trajectories, n the number of states skipped between kept ones. One of the two is always 0 (appendix "Influences of
# PSTraj Truncation …").
SAMPLING: Mapping[tuple[float, int], tuple[float, float, float, float]] = {
    (0.0, 0): (0.56, 0.73, 1.00, 0.46),
    (0.1, 0): (0.55, 0.73, 1.00, 0.47),
    (0.2, 0): (0.55, 0.73, 1.00, 0.48),
    (0.3, 0): (0.57, 0.73, 1.00, 0.52),
    (0.4, 0): (0.60, 0.73, 1.00, 0.58),
    (0.5, 0): (0.65, 0.75, 1.00, 0.64),
    (0.0, 1): (0.57, 0.72, 1.00, 0.52),
    (0.0, 2): (0.56, 0.74, 1.00, 0.59),
    (0.0, 3): (0.56, 0.72, 1.00, 0.65),
    (0.0, 4): (0.56, 0.82, 1.00, 0.72),
    (0.0, 5): (0.62, 0.82, 1.00, 0.74),
}


# Number of instances of each problem, enough for means that hardly depend on the seed.
INSTANCES = 20
# Seed of the instances; any number, fixed so that everybody compares the programs on the same ones.
SEED = 2026


@dataclass(frozen=True)
class Solved:
    """A program's solution of one instance, and the states that it recorded."""

    solution: Any
    """What the program returned."""
    trajectory: Trajectory
    """The states that the program recorded, in order."""


# Most characters of a value in a trace, pysnooper's default; longer values are cut.
LONGEST_VALUE = 100
# Number of changes after which a trace ends; a few more may come from the same line.
LONGEST_TRACE = 5_000


@contextmanager
def trace_execution(filename: str) -> Iterator[list[str]]:
    """Yield a list to which changes of local variables, in functions of the file, are added as `name = value`.

    `filename` is that of the functions' code objects. Only for trusted programs, which run in this process.
    """
    # by sys.settrace, of which a process has one: a debugger or coverage tool sees nothing in the meantime
    lines: list[str] = []
    known: dict[int, dict[str, str]] = {}  # the variables of each call that has not returned, as text

    def watch(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != filename:
            return None
        before = known.setdefault(id(frame), {})
        now = {name: repr(value)[:LONGEST_VALUE] for name, value in frame.f_locals.items() if not callable(value)}
        if len(lines) < LONGEST_TRACE:
            # values as text: a program changes lists in place, so that the object before is the one now
            lines.extend(f"{name} = {text}" for name, text in now.items() if before.get(name) != text)
        known[id(frame)] = now
        if event == "return":
            del known[id(frame)]
        return watch

    previous = sys.gettrace()
    sys.settrace(watch)
    try:
        yield lines
    finally:
        sys.settrace(previous)


@dataclass(frozen=True)
class Program:
    """One algorithm of a pair."""

    problem: Problem
    call: Callable[..., Any]
    """The function; it takes the instance's arguments, then `record`, which it calls with each state."""

    @cached_property
    def source(self) -> str:
        """The function's source, named as `problem.entry`, without docstring, `record` and the calls of it."""
        lines = textwrap.dedent(inspect.getsource(self.call)).splitlines()
        # in the files of pairs a docstring takes one line, and so does each call of `record`
        kept = (line for line in lines if not re.match(r"\s*(record\(|\"\"\")", line))
        text = "\n".join(kept).replace(", record)", ")") + "\n"
        return text.replace(f"def {self.call.__name__}(", f"def {self.problem.entry}(", 1)

    def trace(self, instance: tuple[Any, ...]) -> str:
        """Return the changes of local variables as the program solves a copy of the instance.

        Each is a line `name = value`; both the number of lines and the length of values are limited
        (`trace_execution`). Raises what the program raises.
        """
        with trace_execution(self.call.__code__.co_filename) as lines:
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


_SORTS = {
    "bubble": sorting_pairs.bubble_sort,
    "insertion": sorting_pairs.insertion_sort,
    "selection": sorting_pairs.selection_sort,
    "merge": sorting_pairs.merge_sort,
    "quick": sorting_pairs.quick_sort,
    "heap": sorting_pairs.heap_sort,
}
_PATHS = {
    "dijkstra": graph_pairs.dijkstra,
    "bellman-ford": graph_pairs.bellman_ford,
    "queued": graph_pairs.queued,
    "floyd-warshall": graph_pairs.floyd_warshall,
}
_PAIRS_OF_PATHS = (
    ("dijkstra", "bellman-ford"),
    ("bellman-ford", "queued"),
    ("bellman-ford", "floyd-warshall"),
    ("dijkstra", "floyd-warshall"),
)

# By type, each pair's name, problem and two programs.
_Row = tuple[str, Problem, Callable[..., Any], Callable[..., Any]]
_TYPES: Mapping[int, Sequence[_Row]] = {
    1: [
        ("matrix product, ijk and jik", PRODUCT, graph_pairs.product_by_rows, graph_pairs.product_by_columns),
        ("breadth first, left and right first", TREE, graph_pairs.breadth_left, graph_pairs.breadth_right),
        ("depth first, left and right first", TREE, graph_pairs.depth_left, graph_pairs.depth_right),
    ],
    2: [
        ("nearest and farthest city", ROUTE, graph_pairs.nearest_city, graph_pairs.farthest_city),
        ("bin packing, slivers of 8 and 16", PACKING, graph_pairs.slivers_of_8, graph_pairs.slivers_of_16),
        (
            "bin packing, classes from 50/30 and 40/20",
            PACKING,
            graph_pairs.classes_from_50,
            graph_pairs.classes_from_40,
        ),
    ],
    3: [
        ("breadth first, recursive and iterative", TREE, graph_pairs.breadth_recursive, graph_pairs.breadth_queue),
        (
            "bubble sort, recursive and iterative",
            SORTING,
            sorting_pairs.bubble_recursive,
            sorting_pairs.bubble_iterative,
        ),
        (
            "insertion sort, recursive and iterative",
            SORTING,
            sorting_pairs.insertion_recursive,
            sorting_pairs.insertion_iterative,
        ),
        ("merge sort, recursion and stack", SORTING, sorting_pairs.merge_recursive, sorting_pairs.merge_stack),
        ("first fit, loop and search", PACKING, graph_pairs.first_fit_loop, graph_pairs.first_fit_search),
        ("best fit, loop and minimum", PACKING, graph_pairs.best_fit_loop, graph_pairs.best_fit_minimum),
    ],
    4: [
        # without bubble and insertion sort, the first of the fifteen pairs: see above
        *((f"{a} and {b}", SORTING, _SORTS[a], _SORTS[b]) for a, b in list(combinations(_SORTS, 2))[1:]),
        *((f"{a} and {b}", PATHS, _PATHS[a], _PATHS[b]) for a, b in _PAIRS_OF_PATHS),
    ],
}

# All thirty pairs, in the paper's order of types and cases.
PAIRS = tuple(
    Pair(of_type, case, name, Program(problem, first), Program(problem, second))
    for of_type, rows in _TYPES.items()
    for case, (name, problem, first, second) in enumerate(rows, 1)
)
