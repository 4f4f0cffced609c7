"""Prefix trajectories, one against many: the two recurrences of `scalar.prefix_dtw`, 128 of the many side by side.

A block holds 128 members, `tokens[start + j, lane]` their decisions, padded with a token that equals no other: padding
follows a member's last column, on which no earlier column depends, so it is exact. Both tables are filled a strip of
five rows at a time, column by column: what a column needs of the one before it is kept in `*_column`, what a strip
needs of the row above it in `*_row`. Edit distances are whole, below 2**16; sums along a path are whole (16 or 32 bits)
for a constant normaliser, and float64 for the pairwise one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, int64, types, uint16, uint32
from numpy.typing import NDArray

from behavesim.similarity.kernels.compiler import empty, inline, kernel, multiply_add, read, use_widest_registers

LANES = 128
"""Members in a block; one lane each."""
ROWS = 5
"""Rows of a strip: in a column of it, what a row needs of the one above stays in registers."""

UNREACHED = 2**64 - 1
"""Stands for no path in a sum of any type: the largest number of 16 or 32 bits, and far above any float sum."""

Array = NDArray[Any]


@inline
def _fill_edits(x: Array, y: Array, j: int, column: Array, row: Array) -> None:
    """Levenshtein's table in column j of a strip: x has its rows' tokens, y those of the columns.

    column: ((ROWS + 1) * LANES,) the cell above the strip and those of the strip, in column j - 1 before, in j after.
    row: (columns, LANES) the cells above the strip before, and its last ones after.
    """
    for lane in range(LANES):
        corner, up = column[lane], row[j, lane]
        column[lane] = up
        for r in range(ROWS):
            left = column[(r + 1) * LANES + lane]
            edits = corner if x[r] == y[j, lane] else uint16(min(min(up, corner), left) + uint16(1))
            column[(r + 1) * LANES + lane] = edits
            corner, up = left, edits
        row[j, lane] = up


@inline
def _fill_paths(edits: Array, weights: Any, j: int, column: Array, row: Array) -> None:
    """The least sums of distances along a path in column j of a strip; `column` and `row` as in `_fill_edits`.

    edits: the edit distances in that column. weights: None, or (ROWS,) what each row's are multiplied by.
    """
    for lane in range(LANES):
        corner, up = column[lane], row[j, lane]
        column[lane] = up
        for r in range(ROWS):
            left = column[(r + 1) * LANES + lane]
            best, distance = min(min(up, corner), left), edits[(r + 1) * LANES + lane]
            if weights is None:
                total = column.dtype.type(best + distance)
            else:
                total = multiply_add(float64(distance), weights[r], best)  # type: ignore[call-arg]
            column[(r + 1) * LANES + lane] = total
            corner, up = left, total
        row[j, lane] = up


def _signature(number: Any, reciprocals: Any) -> Any:
    reads = (read(uint16), read(uint16, 2), read(int64), read(int32), int64, reciprocals, float64)
    return types.void(*reads, number[:, ::1], float64[::1])


@kernel(
    _signature(uint16, types.none),
    _signature(uint32, types.none),
    _signature(float64, read(float64)),
)
def similarities(
    x: Array,
    tokens: Array,
    starts: Array,
    lengths: Array,
    first: int,
    reciprocals: Any,
    unit: float,
    path_row: Array,
    out: Array,
) -> None:
    """Sim of the candidate x and each member from block `first` on, unclipped, into `out`, one per length.

    Block b is the rows starts[b] to starts[b + 1] of `tokens`. reciprocals: None, or for the pairwise normaliser
    1 / (k + 1) at k < ROWS + the greater length. path_row: room for (the greatest length, LANES) sums of their type.
    """
    use_widest_registers()  # type: ignore[call-arg]
    unreached = path_row.dtype.type(UNREACHED)
    strip = np.empty(ROWS, np.uint16)
    weights = None if reciprocals is None else np.empty(ROWS)
    columns = path_row.shape[0]
    edit_row, last_row = empty(columns, LANES, np.uint16), empty(columns, LANES, path_row.dtype)
    edit_column = empty(ROWS + 1, LANES, np.uint16).ravel()
    path_column = empty(ROWS + 1, LANES, path_row.dtype).ravel()
    for block in range(first, (lengths.size + LANES - 1) // LANES):
        y = tokens[starts[block] : starts[block + 1]]
        for j in range(len(y)):
            edit_row[j] = j + 1
            path_row[j] = unreached
        for i in range(0, x.size, ROWS):
            for r in range(min(ROWS, x.size - i)):
                strip[r] = x[i + r]
            for cell in range((ROWS + 1) * LANES):
                is_origin = i == 0 and cell < LANES  # into the first cell a path comes from the corner, at no cost
                edit_column[cell], path_column[cell] = i + cell // LANES, 0 if is_origin else unreached
            for j in range(len(y)):
                _fill_edits(strip, y, j, edit_column, edit_row)
                if reciprocals is not None:
                    for r in range(ROWS):
                        weights[r] = reciprocals[max(i + r, j)]
                _fill_paths(edit_column, weights, j, path_column, path_row)
                if i + ROWS >= x.size:
                    for lane in range(LANES):
                        last_row[j, lane] = path_column[(x.size - i) * LANES + lane]
        for lane in range(min(LANES, lengths.size - block * LANES)):
            length = lengths[block * LANES + lane]
            total = float64(last_row[length - 1, lane])
            out[block * LANES + lane] = 1.0 - total / (unit * min(x.size, length))
