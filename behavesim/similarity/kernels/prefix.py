"""Prefix trajectories, one against an archive: the two fused recurrences of `scalar.prefix_dtw`, 32 members abreast.

A block holds 32 members, `tokens[start + j, lane]` their decisions, padded with a token that equals no other: padding
follows a member's last column, on which no earlier column depends, so it is exact. A strip of a few columns stays in
registers while all rows of the candidate sweep over it; what the next strip needs of its left neighbour, the border,
goes through memory. Edit distances are whole, below 2**16; sums along a path are whole (16 or 32 bits) for a constant
normaliser, and float64 for the pairwise one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int32, int64, njit, types, uint16, uint32
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from behavesim.similarity.kernels import OPTIONS, UNREACHED
from behavesim.similarity.kernels.cell import Neighbours, cell
from behavesim.similarity.kernels.vectors import INDEX, Lanes, arrays, index, number_type

LANES = 32
STRIP = 4
"""Columns in registers: 4 edit and 4 path vectors of 32 x 16 bits, with their tokens, fit into 32 wide registers."""

Array = NDArray[Any]


@intrinsic
def _sweep(
    typing_context: Any,
    candidate: Any,
    tokens: Any,
    start: Any,
    column: Any,
    edit_border: Any,
    path_border: Any,
    reciprocals: Any,
    infinite: Any,
    last_row: Any,
) -> Any:
    """Sweep all rows of the candidate over the strip of columns from `column` on of the block at `start`.

    The borders hold both tables' values left of the strip and, afterwards, those of its last column; last_row gets the
    path sums of the candidate's last state.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def offset(row: Any) -> Any:
            return builder.mul(row, index(LANES))

        def reciprocal(i: Any, j: Any) -> Any:
            longer = builder.select(builder.icmp_signed(">", i, j), i, j)
            return path.splat(builder.load(builder.gep(scale.data, [longer])))

        x, y, edits, paths, scale, last = arrays(context, builder, signature, arguments, 0, 1, 4, 5, 6, 8)
        start, column, infinite = arguments[2], arguments[3], arguments[7]
        whole, path = Lanes(builder, ir.IntType(16), LANES), Lanes(builder, number_type(signature.args[5]), LANES)
        columns = [builder.add(column, index(s)) for s in range(STRIP)]
        y_strip = [whole.load(y.data, offset(builder.add(start, j))) for j in columns]

        # Row 0 of Levenshtein's table counts the columns; no path comes from there but into the first cell.
        edit_up = whole.variables(whole.splat(builder.trunc(builder.add(j, index(1)), whole.element)) for j in columns)
        path_up = path.variables([path.splat(infinite)] * STRIP)
        is_first = builder.icmp_signed("==", column, index(0))
        origin = builder.select(is_first, ir.Constant(path.element, 0), infinite)
        (edit_corner,) = whole.variables([whole.splat(builder.trunc(column, whole.element))])
        (path_corner,) = path.variables([path.splat(origin)])

        with cgutils.for_range(builder, builder.extract_value(x.shape, 0), intp=INDEX) as loop:
            i = loop.index
            x_i = whole.splat(builder.load(builder.gep(x.data, [i])))
            edit_left, path_left = whole.load(edits.data, offset(i)), path.load(paths.data, offset(i))
            edit_before, path_before = builder.load(edit_corner), builder.load(path_corner)
            builder.store(edit_left, edit_corner)
            builder.store(path_left, path_corner)
            for s, j in enumerate(columns):
                edit = Neighbours(builder.load(edit_up[s]), edit_left, edit_before)
                total = Neighbours(builder.load(path_up[s]), path_left, path_before)
                is_equal = builder.icmp_signed("==", x_i, y_strip[s])
                edit_left, path_left = cell(whole, path, is_equal, edit, total, partial(reciprocal, i, j))
                builder.store(edit_left, edit_up[s])
                builder.store(path_left, path_up[s])
                edit_before, path_before = edit.up, total.up
            whole.store(edit_left, edits.data, offset(i))
            path.store(path_left, paths.data, offset(i))
        for s, j in enumerate(columns):
            path.store(builder.load(path_up[s]), last.data, offset(j))
        return context.get_dummy_value()

    arguments = (candidate, tokens, start, column, edit_border, path_border, reciprocals, infinite, last_row)
    return types.void(*arguments), generate


def _signature(number: Any) -> Any:
    def read(dtype: Any, dimensions: int) -> Any:
        return types.Array(dtype, dimensions, "C", readonly=True)

    reads = (read(uint16, 1), read(uint16, 2), read(int64, 1), read(int32, 1), int64, read(float64, 1), float64)
    return types.void(*reads, number[:, ::1], float64[::1])


@njit([_signature(number) for number in (uint16, uint32, float64)], **OPTIONS)
def similarities(
    x: Array,
    tokens: Array,
    starts: Array,
    lengths: Array,
    first: int,
    reciprocals: Array,
    unit: float,
    paths: Array,
    out: Array,
) -> None:
    """Sim of the candidate x and each member from block `first` on, unclipped, into `out`, one per length.

    Block b is the rows starts[b] to starts[b + 1] of `tokens`, a multiple of STRIP; reciprocals[k] is 1 / (k + 1),
    used by the pairwise normaliser. `paths` is room for max(x.size, columns) x 2 rows of the type of the sums.
    """
    room = paths.shape[0] // 2
    path_border, last_row = paths[:room], paths[room:]
    infinite = paths.dtype.type(UNREACHED)
    edit_border = np.empty((x.size, LANES), np.uint16)
    for block in range(first, (lengths.size + LANES - 1) // LANES):
        for i in range(x.size):
            for lane in range(LANES):
                edit_border[i, lane] = i + 1
                path_border[i, lane] = infinite
        start = starts[block]
        for column in range(0, starts[block + 1] - start, STRIP):
            _sweep(x, tokens, start, column, edit_border, path_border, reciprocals, infinite, last_row)  # type: ignore
        for lane in range(min(LANES, lengths.size - block * LANES)):
            length = lengths[block * LANES + lane]
            total = float64(last_row[length - 1, lane])
            out[block * LANES + lane] = 1.0 - total / (unit * min(x.size, length))
