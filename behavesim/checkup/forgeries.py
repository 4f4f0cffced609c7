"""Forged solutions, made from an honest one: what a program could return to get a score without solving anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.task import Solution, as_arrays

PARTS = 50
"""Most parts (rows of arrays) of a solution that are each put in place of all others; more would take long."""

Array = NDArray[Any]
"""One array of a solution, of any shape."""


@dataclass(frozen=True)
class Forgery:
    """A forged solution.

    `what` describes it, to follow "a solution with". An `absurd` one breaks the rules of every problem.
    """

    what: str
    solution: Solution
    absurd: bool


def forgeries(solution: Solution) -> Iterator[Forgery]:
    """Yield forgeries of a solution: its arrays emptied, doubled, with other numbers or with one part repeated."""
    forged = partial(_forged, solution)
    yield forged("nothing in it", lambda array: array[:0] if array.ndim else array, absurd=True)
    yield forged("everything twice", lambda array: np.concatenate([array, array]) if array.ndim else array, absurd=True)
    yield forged("NaN for every number", lambda array: np.full(array.shape, np.nan), absurd=True)
    yield forged("infinity for every number", lambda array: np.full(array.shape, np.inf), absurd=True)
    yield forged("only zeros", np.zeros_like)
    yield forged("only minus ones", lambda array: np.full_like(array, -1) if array.dtype.kind in "if" else array)
    # 2^40 is beyond every index, and exact as a float
    yield forged("huge numbers", lambda array: np.full(array.shape, 2**40))
    for part in range(min(PARTS, _parts(solution))):
        yield forged("one part all over", partial(_all_over, part))


def halves(solution: Solution) -> Iterator[Forgery]:
    """Yield a solution with the first half of each array, then one with the second; nothing if none has two parts.

    An array of fewer than two parts stays whole.
    """
    if _parts(solution) >= 2:
        yield _forged(solution, "only its first half", lambda array: _half(array, first=True))
        yield _forged(solution, "only its second half", lambda array: _half(array, first=False))


def _forged(solution: Solution, what: str, change: Callable[[Array], Array], absurd: bool = False) -> Forgery:
    """Return a forgery made by changing each array of a solution; `what` describes it.

    `absurd` says whether it breaks the rules of every problem.
    """
    changed = {name: change(array) for name, array in as_arrays(solution).items()}
    return Forgery(what, changed if set(changed) != {""} else changed[""], absurd)


def _parts(solution: Solution) -> int:
    """Return the length of the longest array; 0 if all are single numbers."""
    return max((len(array) for array in as_arrays(solution).values() if array.ndim), default=0)


def _half(array: Array, first: bool) -> Array:
    if not array.ndim or len(array) < 2:
        return array
    middle = len(array) // 2
    return array[:middle] if first else array[middle:]


def _all_over(part: int, array: Array) -> Array:
    """Return a copy of an array in which every row is the one at index `part`, modulo the number of rows.

    Shape and type stay. A single number or an empty array is returned unchanged.
    """
    return np.repeat(array[part % len(array)][None], len(array), axis=0) if array.ndim and len(array) else array
