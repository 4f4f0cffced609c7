"""What programs answer is taken as what it is, or refused in words that say what was expected."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from behavesim.task import (
    InvalidSolution,
    as_integer,
    as_integers,
    as_number,
    as_numbers,
    as_permutation,
    as_subset,
    first_greatest,
)


def test_what_is_of_the_kind_that_was_asked_for_is_returned() -> None:
    assert as_integer(np.int8(3)) == as_integer(True) + 2 == 3
    assert as_number(np.float32(0.5)) == 0.5
    assert as_number(np.array(2)) == 2.0
    assert as_numbers([[1, 2], [3, 4]], (2, 2)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert first_greatest([1, 3, 3], 3) == 1
    assert first_greatest([-np.inf, 0.0], 2) == 1
    assert as_integers(np.array([2, 0], dtype=np.uint8), 3, "picks").dtype == np.int64
    assert as_integers(np.array([], dtype=int), 3, "picks").tolist() == []
    assert as_permutation(np.array([2, 0, 1]), 3, "a tour").tolist() == [2, 0, 1]
    assert as_subset(np.array([2, 0]), 3, "items").tolist() == [2, 0]


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: as_integer(3.0, "the number of a city"), "expected the number of a city, got float"),
    (lambda: as_number("1.0"), "expected a number, got str"),
    (lambda: as_number([1, 2]), "expected a number, got list"),
    (lambda: as_number(10**400), "expected a number, got the non-finite inf"),
    (lambda: as_numbers([1, 2], (3,), "radii"), "expected radii of shape (3,), got int64 of shape (2,)"),
    (lambda: as_numbers([[1], [2, 3]], (2,)), "expected numbers of shape (2,): "),
    (lambda: as_numbers(["a", "b"], (2,)), "expected numbers of shape (2,), got <U1 of shape (2,)"),
    (lambda: as_numbers([1, np.nan], (2,)), "expected numbers that are finite, got a non-finite one"),
    (lambda: first_greatest([1.0], 2), "expected 2 priorities, got float64 of shape (1,)"),
    (lambda: first_greatest([[1], [2, 3]], 2), "expected 2 priorities: "),
    (lambda: first_greatest([1.0, np.nan], 2), "expected a finite greatest priority, got the non-finite nan"),
    (lambda: as_integers([0, 1], 2, "picks"), "expected picks as one row, got [0, 1]"),
    (lambda: as_integers(np.array([0, 1]), 2, "picks", 3), "expected picks as one row, got array([0, 1])"),
    (lambda: as_integers(np.array([0.0]), 2, "picks"), "expected picks as integers, got float64"),
    (lambda: as_integers(np.array([0, 2]), 2, "picks"), "expected picks in 0…1, got 0…2"),
    (lambda: as_integers(np.array([-1, 0]), 2, "picks"), "expected picks in 0…1, got -1…0"),
    (lambda: as_permutation(np.array([0, 0]), 2, "a tour"), "expected a tour, each of 0…1 once"),
    (lambda: as_subset(np.array([0, 0]), 2, "items"), "expected items, at least one and each once"),
    (lambda: as_subset(np.array([], dtype=int), 2, "items"), "expected items, at least one and each once"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_anything_else_is_refused_in_words(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidSolution, match="^" + re.escape(message)):
        call()
