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
"""Greatest number of parts of a solution that are each repeated in place of all parts; more would take long."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Forgery:
    """A forged solution.

    `what` describes it, to follow "a solution with". An `absurd` one breaks the rules of every problem.
    """

    what: str
    solution: Solution
    absurd: bool


def forgeries(solution: Solution) -> Iterator[Forgery]:
    """Yield forged solutions: the arrays of an honest one, emptied, doubled, or with other numbers."""
    arrays = as_arrays(solution)

    def forged(what: str, change: Callable[[Array], Array], absurd: bool = False) -> Forgery:
        changed = {name: change(array) for name, array in arrays.items()}
        return Forgery(what, changed if set(changed) != {""} else changed[""], absurd)

    yield forged("nothing in it", lambda array: array[:0] if array.ndim else array, absurd=True)
    yield forged("everything twice", lambda array: np.concatenate([array, array]) if array.ndim else array, absurd=True)
    yield forged("NaN for every number", lambda array: np.full(array.shape, np.nan), absurd=True)
    yield forged("infinity for every number", lambda array: np.full(array.shape, np.inf), absurd=True)
    yield forged("only zeros", np.zeros_like)
    yield forged("only minus ones", lambda array: np.full_like(array, -1) if array.dtype.kind in "if" else array)
    # 2^40 is beyond every index, and exact as a float
    yield forged("huge numbers", lambda array: np.full(array.shape, 2**40))
    for part in range(min(PARTS, max((len(array) for array in arrays.values() if array.ndim), default=0))):
        yield forged("one part all over", partial(_all_over, part))


def halves(solution: Solution) -> Iterator[Forgery]:
    """Yield each half of an honest solution; nothing if it has fewer than two parts."""
    arrays = as_arrays(solution)
    if max((len(array) for array in arrays.values() if array.ndim), default=0) < 2:
        return
    for what, place in (("first", 0), ("second", 1)):
        changed = {name: _half(array, place) for name, array in arrays.items()}
        yield Forgery(f"only its {what} half", changed if set(changed) != {""} else changed[""], absurd=False)


def _half(array: Array, place: int) -> Array:
    if not array.ndim or len(array) < 2:
        return array
    middle = len(array) // 2
    return array[:middle] if place == 0 else array[middle:]


def _all_over(part: int, array: Array) -> Array:
    return np.repeat(array[part % len(array)][None], len(array), axis=0) if array.ndim and len(array) else array
