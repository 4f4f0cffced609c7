"""Checks of a program's answers and solutions, for the code of tasks; what breaks a rule is an InvalidSolution.

In each, `what` says in the message what was expected.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.task.task import InvalidSolution


def as_integer(answer: Any, what: str = "an integer") -> int:
    """Return an answer as an int; raises InvalidSolution if it is of no integer type, such as 3.0."""
    try:
        return operator.index(answer)
    except TypeError as error:
        raise InvalidSolution(f"expected {what}, got {type(answer).__name__}") from error


def as_number(answer: Any, what: str = "a number") -> float:
    """Return an answer as a float; raises InvalidSolution if it is a text or no number, or if it is not finite."""
    try:
        if isinstance(answer, str | bytes):  # `float` would take the text "1.0"
            raise TypeError
        number = float(answer)
    except (TypeError, ValueError) as error:
        raise InvalidSolution(f"expected {what}, got {type(answer).__name__}") from error
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidSolution(f"expected {what}, got the non-finite {number}")
    return number


def as_numbers(answer: Any, shape: tuple[int, ...], what: str = "numbers") -> NDArray[np.float64]:
    """Return an answer or solution as a float64 array; raises InvalidSolution unless it is finite, of this `shape`."""
    try:
        found = np.asarray(answer)
    except ValueError as error:  # rows of different lengths
        raise InvalidSolution(f"expected {what} of shape {shape}: {error}") from error
    if found.shape != shape or found.dtype.kind not in "fiub":  # b: True and False count as 1 and 0
        raise InvalidSolution(f"expected {what} of shape {shape}, got {found.dtype} of shape {found.shape}")
    numbers = found.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InvalidSolution(f"expected {what} that are finite, got a non-finite one")
    return numbers


def first_greatest(answer: Any, count: int) -> int:
    """Return the index of the greatest of `count` priorities, the first of equal ones; -inf leaves a place out.

    Raises InvalidSolution unless there is one number for each place and the greatest is finite, and if any is NaN.
    """
    try:
        priorities = np.asarray(answer)
    except ValueError as error:  # rows of different lengths
        raise InvalidSolution(f"expected {count} priorities: {error}") from error
    if priorities.shape != (count,) or priorities.dtype.kind not in "fiub":
        raise InvalidSolution(f"expected {count} priorities, got {priorities.dtype} of shape {priorities.shape}")
    best = int(priorities.argmax())
    # argmax prefers NaN, so that this finds any. Not rejected, a NaN would mean whatever numpy's version makes of it.
    if not np.isfinite(priorities[best]):
        raise InvalidSolution(f"expected a finite greatest priority, got the non-finite {priorities[best]}")
    return best


def as_integers(solution: Any, below: int, what: str, count: int | None = None) -> NDArray[np.int64]:
    """Return a solution, a row of `count` integers (any number if None) from 0 to `below` - 1, as int64.

    Raises InvalidSolution for anything else.
    """
    # no conversion: a program that returns 1.5 for a city has a fault, and rounding would hide it
    if not isinstance(solution, np.ndarray) or solution.ndim != 1 or count not in (None, len(solution)):
        raise InvalidSolution(f"expected {what} as one row, got {solution!r:.80}")
    if not np.issubdtype(solution.dtype, np.integer):
        raise InvalidSolution(f"expected {what} as integers, got {solution.dtype}")
    if len(solution) and (solution.min() < 0 or solution.max() >= below):
        raise InvalidSolution(f"expected {what} in 0…{below - 1}, got {solution.min()}…{solution.max()}")
    return solution.astype(np.int64)


def as_permutation(solution: Any, count: int, what: str) -> NDArray[np.int64]:
    """Return a solution as one row of int64 that holds each number from 0 to `count` - 1 once, else InvalidSolution."""
    found = as_integers(solution, count, what, count)
    if len(np.unique(found)) != count:
        raise InvalidSolution(f"expected {what}, each of 0…{count - 1} once")
    return found


def as_subset(solution: Any, count: int, what: str) -> NDArray[np.int64]:
    """Return a solution as one row of int64: some of the numbers from 0 to `count` - 1, none twice."""
    found = as_integers(solution, count, what)
    if not len(found) or len(np.unique(found)) != len(found):
        raise InvalidSolution(f"expected {what}, at least one and each once")
    return found
