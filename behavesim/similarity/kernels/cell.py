"""One cell of the two fused recurrences, for all lanes: Levenshtein's table, and the DTW over its entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from behavesim.similarity.kernels.vectors import Lanes


class Neighbours(NamedTuple):
    """What a cell is made of: the values above, to the left, and above on the left."""

    up: Any
    left: Any
    corner: Any


def cell(
    whole: Lanes, path: Lanes, is_equal: Any, edit: Neighbours, total: Neighbours, reciprocal: Callable[[], Any]
) -> tuple[Any, Any]:
    """The edit distance of two prefixes and the least sum of distances along a path to them.

    is_equal: whether the prefixes end alike: then the best way is the corner, at no cost. A float sum is of distances
    times the reciprocal, a whole one of the edit distances themselves.
    """
    builder = whole.builder
    least = whole.minimum(whole.minimum(edit.up, edit.corner), edit.left)
    edits = builder.select(is_equal, edit.corner, whole.add(least, whole.constant(1)))
    best = path.minimum(path.minimum(total.up, total.corner), total.left)
    distance = path.convert(edits)
    return edits, path.fused(distance, reciprocal(), best) if path.is_float else path.add(distance, best)
