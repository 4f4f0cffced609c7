"""One pair of prefix trajectories at speed: the recurrences of `scalar.prefix_dtw` along anti-diagonals.

A strip holds 32 rows, one a lane; at step d lane l is in column d - l, so that all it needs, left, up and corner, is
known from the step before. The last row of a strip is the border that the next strip starts from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int16, njit, types, uint16, uint32
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from behavesim.similarity.kernels import OPTIONS, UNREACHED
from behavesim.similarity.kernels.cell import Neighbours, cell
from behavesim.similarity.kernels.vectors import INDEX, Lanes, arrays, index, number_type

ROWS = 32

Array = NDArray[Any]


@intrinsic
def _strip(
    typing_context: Any, x: Any, first: Any, last: Any, y: Any, edit_border: Any, path_border: Any, infinite: Any
) -> Any:
    """Both tables in the rows `first` to `last` of x, which has room for ROWS from `first` on.

    y: the other's tokens backwards, with room for ROWS more at both ends. The borders hold the row above, from the
    column left of the first on, and get the row `last`, without that column.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def neighbours(kind: Lanes, now: Any, above: Any, border: Any, here: Any) -> Neighbours:
            left = builder.load(now)
            return Neighbours(
                kind.shifted(left, builder.load(builder.gep(border.data, [here]))), left, builder.load(above)
            )

        def reciprocal(d: Any) -> Any:
            column = builder.sub(whole.splat(whole.resize(d)), lane)
            longer = builder.select(builder.icmp_unsigned(">", row, column), row, column)
            return builder.fdiv(path.constant(1.0), path.convert(whole.add(longer, whole.constant(1))))

        x, y, edits, paths = arrays(context, builder, signature, arguments, 0, 3, 4, 5)
        first, last, infinite = arguments[1], arguments[2], arguments[6]
        whole, path = Lanes(builder, ir.IntType(16), ROWS), Lanes(builder, number_type(signature.args[5]), ROWS)
        columns = builder.sub(builder.extract_value(y.shape, 0), index(2 * ROWS))
        last_lane = builder.sub(last, first)
        lane = ir.Constant(whole.type, list(range(ROWS)))
        row = whole.add(whole.splat(whole.resize(first)), lane)
        x_rows = whole.load(x.data, first)
        # A lane that has not begun stands left of the first column, where Levenshtein's table counts the rows.
        edit, edit_above = whole.variables([whole.add(row, whole.constant(1)), whole.splat(builder.load(edits.data))])
        total, total_above = path.variables([path.splat(infinite), path.splat(builder.load(paths.data))])

        with cgutils.for_range(builder, builder.add(columns, last_lane), intp=INDEX) as loop:
            d = loop.index
            begun = builder.select(builder.icmp_signed("<", d, index(ROWS)), d, index(ROWS))
            has_begun = builder.icmp_unsigned("<=", lane, whole.splat(whole.resize(begun)))
            y_back = whole.load(y.data, builder.sub(builder.add(columns, index(ROWS - 1)), d))
            here = builder.add(d, index(1))  # of lane 0, in the borders
            near = neighbours(whole, edit, edit_above, edits, here)
            way = neighbours(path, total, total_above, paths, here)
            is_equal = builder.icmp_signed("==", x_rows, y_back)
            edit_now, path_now = cell(whole, path, is_equal, near, way, lambda: reciprocal(d))
            edit_now = builder.select(has_begun, edit_now, near.left)
            path_now = builder.select(has_begun, path_now, way.left)
            for variable, value in ((edit, edit_now), (edit_above, near.up), (total, path_now), (total_above, way.up)):
                builder.store(value, variable)
            there = builder.sub(here, last_lane)
            there = builder.select(builder.icmp_signed("<", there, index(0)), index(0), there)
            for border, vector in ((edits, edit_now), (paths, path_now)):
                value = builder.extract_element(vector, builder.trunc(last_lane, ir.IntType(32)))
                builder.store(value, builder.gep(border.data, [there]))
        return context.get_dummy_value()

    return types.void(x, first, last, y, edit_border, path_border, infinite), generate


def _signature(number: Any) -> Any:
    tokens = types.Array(int16, 1, "C", readonly=True)
    return float64(tokens, tokens, number[::1])


@njit([_signature(number) for number in (uint16, uint32, float64)], **OPTIONS)
def prefix_dtw(x: Array, y: Array, path: Array) -> Any:
    """The DTW of all prefixes of x and y, sums in the type of `path`, which is room for y.size + 1 of them.

    Whole edits in whole types; in float64 each edit distance is divided by the longer of its two prefixes.
    """
    rows = np.empty(x.size + ROWS, np.uint16)
    backwards = np.empty(y.size + 2 * ROWS, np.uint16)
    for i in range(x.size):
        rows[i] = x[i]
    for j in range(y.size):
        backwards[ROWS + j] = y[y.size - 1 - j]
    edit = np.arange(y.size + 1).astype(np.uint16)
    infinite = path.dtype.type(UNREACHED)
    path[:] = infinite
    path[0] = 0  # into the first cell a path comes from the corner, at no cost
    for first in range(0, x.size, ROWS):
        _strip(rows, first, min(first + ROWS, x.size) - 1, backwards, edit, path, infinite)  # type: ignore[call-arg]
        edit[0] = first + ROWS
        path[0] = infinite
    return float64(path[y.size])
