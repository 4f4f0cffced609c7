"""Forged solutions, made from an honest one: what a program could return to get a score without solving anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
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

    `what` describes it, to follow "a solution with". An `absurd` one breaks the rules of every problem. A `renamed` one
    has the honest solution's things under other names: accepted at the same score, it shows that names are not checked.
    """

    what: str
    solution: Solution
    absurd: bool = False
    renamed: bool = False


def forgeries(solution: Solution, instance: Any) -> Iterator[Forgery]:
    """Yield forgeries of an instance's solution: its arrays emptied, doubled, with other numbers or one part repeated.

    If it has arrays of whole numbers from 0, which may be indices, there are some with indices below 0, too.
    """
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
    if any(map(_are_indices, as_arrays(solution).values())):
        yield from _below_zero(solution, instance)


def halves(solution: Solution) -> Iterator[Forgery]:
    """Yield a solution with the first half of each array, then one with the second; nothing if none has two parts.

    An array of fewer than two parts stays whole.
    """
    if _parts(solution) >= 2:
        yield _forged(solution, "only its first half", lambda array: _half(array, first=True))
        yield _forged(solution, "only its second half", lambda array: _half(array, first=False))


def _below_zero(solution: Solution, instance: Any) -> Iterator[Forgery]:
    """Yield forgeries whose indices are below 0: NumPy counts those from the end, and `x[x >= 0]` leaves them out."""

    def from_the_end(array: Array) -> Array:
        return array.astype(np.int64) - _things(instance, int(array.max()) + 1)

    def half_twice(array: Array) -> Array:
        half = _half(array, first=True)
        return np.concatenate([half, half.astype(np.int64) - _things(instance, int(array.max()) + 1)])

    def everything(array: Array) -> Array:
        return np.arange(-_things(instance, int(array.max()) + 1), 0) if array.ndim == 1 else from_the_end(array)

    def forged(what: str, change: Callable[[Array], Array]) -> Forgery:
        return _forged(solution, what, lambda array: change(array) if _are_indices(array) else array)

    yield replace(forged("its indices counted from the end", from_the_end), renamed=True)
    yield forged("every index, counted from the end", everything)
    yield forged("its first half twice, the second time counted from the end", half_twice)
    yield forged("its indices negated", lambda array: -array.astype(np.int64))


def _are_indices(array: Array) -> bool:
    """Whether an array may hold indices: whole numbers from 0, at least one."""
    return bool(array.ndim and array.size and array.dtype.kind in "iu" and array.min() >= 0)


def _things(instance: Any, least: int) -> int:
    """Return how many things an instance has: the least length that it or a part of it has, `least` or more.

    If none is as long, it is `least`.
    """
    if isinstance(instance, Mapping):
        parts = list(instance.values())
    else:
        parts = (
            list(instance) if isinstance(instance, list | tuple) else list(getattr(instance, "__dict__", {}).values())
        )
    lengths = [len(each) for each in (instance, *parts) if isinstance(each, list | tuple)]
    lengths += [length for each in (instance, *parts) if isinstance(each, np.ndarray) for length in each.shape]
    return min((length for length in lengths if length >= least), default=least)


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
