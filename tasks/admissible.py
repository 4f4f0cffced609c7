"""Admissible sets in FunSearch's symmetric construction: groups of three coordinates, and which rows fit together."""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from behavesim_tasks.asp import AdmissibleSets

# The values that a group of three coordinates may have: one for each class of rotations in the construction.
SYMBOLS = ((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 2), (0, 2, 1), (1, 1, 1), (2, 2, 2))
# Sorted triples of values: any three vectors of an admissible set have one of these in some coordinate.
SEPARATING = frozenset({(0, 1, 2), (0, 0, 1), (0, 0, 2)})
# A vector that a program ranks, as the index into SYMBOLS of each of its groups of three coordinates.
Row = tuple[int, ...]
# The coordinates of a vector or of a group, each 0, 1 or 2.
Values = tuple[int, ...]


def rotations(symbol: int) -> tuple[Values, ...]:
    """Return the different rotations of a symbol's three values: three, or one if the values are equal."""
    a, b, c = SYMBOLS[symbol]
    return tuple(dict.fromkeys([(a, b, c), (c, a, b), (b, c, a)]))


def group_weights(row: Row) -> tuple[int, ...]:
    """Return the number of non-zero values, 0 to 3, in each group of a row."""
    return tuple(3 - SYMBOLS[symbol].count(0) for symbol in row)


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
            for rotated in product(*(rotations(symbol) for symbol in triple))
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
        blocked = self._blocked | self._instance.twins[group_weights(row)]
        # the pick's part of the table, looked up once for all earlier picks; all sets of rows are bit sets, for speed
        by_group = [symbols[symbol] for symbols, symbol in zip(self._instance.clashing, row, strict=True)]
        for earlier in self._picks:
            bad = -1  # all rows
            for symbols, symbol in zip(by_group, earlier, strict=True):
                bad &= symbols[symbol]
            blocked |= bad
        self._picks.append(row)
        self._blocked = blocked
