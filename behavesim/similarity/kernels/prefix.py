"""Prefix trajectories, one (the candidate) against many (the members): `scalar.prefix_dtw` for 128 members at once.

A block holds 128 members: `tokens[start + j, lane]` is decision j of the member in that lane. Lanes are padded with a
token that equals no other. Padding does not change a result, as no column depends on a later one. Both tables (edit
distances, and DTW's sums) are filled in strips of five rows, column by column. `*_column` keeps the column before,
`*_row` the row above the strip. Edit distances are integers below 2**16. Sums are integers of 16 or 32 bits if the
normaliser is a number, and float64 if it is "pair".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, int64, types, uint16, uint32
from numpy.typing import NDArray

from behavesim.similarity.kernels import empty, inline, kernel, multiply_add, read, together, use_widest_registers

# Members in a block; one lane each.
LANES = 128
# Rows of a strip: few enough that values passed from row to row stay in registers.
ROWS = 5

# A sum for cells that no path reaches; cast to 16 or 32 bits it is their largest number, in float64 above any sum.
UNREACHED = 2**64 - 1

Array = NDArray[Any]


@inline
def _fill_edits(x: Array, y: Array, j: int, column: Array, row: Array) -> None:
    """Fill column j of a strip of Levenshtein's table in place."""
    # x: (ROWS,) the rows' tokens. y: (columns, LANES) the columns' tokens. column: ((ROWS + 1) * LANES,) the cell above
    # the strip, then the strip's; holds column j - 1 before the call and j after it. row: (columns, LANES) the cells
    # above the strip; row[j] gets the strip's last cell.
    for lane in range(LANES):
        corner, up = column[lane], row[j, lane]
        column[lane] = up
        for r in range(ROWS):
            left = column[(r + 1) * LANES + lane]
            # kept in 16 bits at each step: numba would widen the sum to 64, and a register hold a quarter of the lanes
            edits = corner if x[r] == y[j, lane] else uint16(min(min(up, corner), left) + uint16(1))
            column[(r + 1) * LANES + lane] = edits
            corner, up = left, edits
        row[j, lane] = up


@inline
def _fill_paths(edits: Array, weights: Any, j: int, column: Array, row: Array) -> None:
    """Fill column j of a strip of DTW's table in place: the smallest sum of distances along a path to each cell."""
    # edits: the column's edit distances. weights: (ROWS,) factors of each row's distances; None for a factor of 1.
    # column: ((ROWS + 1) * LANES,) the sum above the strip, then the strip's; holds column j - 1 before the call and j
    # after it. row: (columns, LANES) the sums above the strip; row[j] gets the strip's last one.
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
    blocks = together(read(uint16, 2), read(int64), read(int32))
    return types.void(read(uint16), blocks, int64, reciprocals, float64, number[:, ::1], float64[::1])


@kernel(_signature(uint16, types.none), _signature(uint32, types.none), _signature(float64, read(float64)))
def similarities(x: Array, blocks: Any, first: int, reciprocals: Any, unit: float, path_row: Array, out: Array) -> None:
    """Write the unclipped Sim of the candidate and each member from block `first` on into `out`, (members,).

    x: the candidate's tokens. blocks: (tokens, starts, lengths); block b is rows starts[b] to starts[b + 1] of
    `tokens`; `lengths` has each member's number of states. Member k is in lane k % LANES of block k // LANES, and its
    Sim in out[k]. unit: what distances are divided by. reciprocals: 1 / (k + 1) for k below ROWS + the longest length
    if the normaliser is "pair", else None. path_row: scratch, (the members' longest length, LANES); its type is that of
    the sums.
    """
    use_widest_registers()  # type: ignore[call-arg]
    tokens, starts, lengths = blocks
    unreached = path_row.dtype.type(UNREACHED)
    strip, weights = np.empty(ROWS, np.uint16), None if reciprocals is None else np.empty(ROWS)
    edit_row, last_row = empty(len(path_row), LANES, np.uint16), empty(len(path_row), LANES, path_row.dtype)
    edit_column = empty(ROWS + 1, LANES, np.uint16).ravel()
    path_column = empty(ROWS + 1, LANES, path_row.dtype).ravel()
    for block in range(first, len(starts) - 1):
        y = tokens[starts[block] : starts[block + 1]]
        for j in range(len(y)):
            edit_row[j], path_row[j] = j + 1, unreached
        for i in range(0, x.size, ROWS):
            for r in range(min(ROWS, x.size - i)):  # behind x's end the strip keeps old tokens, and nothing reads them
                strip[r] = x[i + r]
            for cell in range((ROWS + 1) * LANES):
                is_origin = i == 0 and cell < LANES  # paths begin in the corner before the first cell, with sum 0
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
