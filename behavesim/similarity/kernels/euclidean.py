"""Vector trajectories, one (the candidate) against many (the members): DTW of 32 members side by side, in float64.

A block holds 32 members: `rows[start + j * dimensions + k, lane]` is coordinate k of state j of the member in that
lane. A strip of the candidate's states reads each coordinate once. States after a member's last one are NaN. They do
not change its result, because a cell of the DTW table depends only on states up to its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int32, int64, types
from numpy.typing import NDArray

from behavesim.similarity.kernels import empty, inline, kernel, multiply_add, read, together, use_widest_registers

# Members in a block; one lane each.
LANES = 32
# States of the candidate in a strip; they are compared with a member's state together, so it is read only once.
STATES = 4
# Coordinates handled together: each sum of squares is read and written once for all of them.
COORDINATES = 2

Array = NDArray[Any]


@inline
def _add_squares(x: Array, y: Array, squares: Array) -> None:
    """Add the squared differences of COORDINATES coordinates to the squared distances, in place."""
    # x: (STATES * COORDINATES,) of the candidate; y: (COORDINATES * LANES,) of the members; squares: (STATES * LANES,).
    for lane in range(LANES):
        for r in range(STATES):
            square = squares[r * LANES + lane]
            for k in range(COORDINATES):
                difference = x[r * COORDINATES + k] - y[k * LANES + lane]
                square = multiply_add(difference, difference, square)  # type: ignore[call-arg]
            squares[r * LANES + lane] = square


@inline
def _warp(squares: Array, column: Array, above: Array) -> None:
    """Fill a strip of one column of the DTW table in place: the smallest sum of distances along a path to each cell."""
    # squares: (STATES * LANES,) squared distances. column: (STATES * LANES,) sums of the column before; gets the new
    # ones. above: (3 * LANES,) the sum in the cell above the strip in this column, the same in the column before, and
    # the largest distance so far; updated for the next strip.
    for lane in range(LANES):
        up, corner, largest = above[lane], above[LANES + lane], above[2 * LANES + lane]
        for r in range(STATES):
            distance = math.sqrt(squares[r * LANES + lane])
            left = column[r * LANES + lane]
            up = distance + min(min(left, corner), up)
            corner = left
            column[r * LANES + lane] = up
            largest = distance if distance > largest else largest  # a comparison with NaN is false
        above[lane], above[LANES + lane], above[2 * LANES + lane] = up, corner, largest


_blocks = together(read(float64), read(int64), read(int32))


@kernel(types.void(read(float64, 2), int64, _blocks, int64, float64, float64[:, ::1]))
def similarities(x: Array, m: int, blocks: Any, first: int, unit: float, found: Array) -> None:
    """Write the unclipped Sim of the candidate and each member from block `first` on into `found`.

    x: the candidate's m states, then NaN up to a multiple of STATES; dimensions a multiple of COORDINATES. blocks:
    (numbers, starts, lengths); `numbers` has the rows of all blocks (see above), LANES numbers each, end to end;
    starts[b] is the row where block b begins, one more the row where the last ends; `lengths` has each member's number
    of states times dimensions. unit: what distances are divided by. found: (2, members) gets each member's Sim, and the
    largest distance between two states, undivided. Member k is in lane k % LANES of block k // LANES, and its results
    in column k; columns of members before block `first` stay as they are.
    """
    use_widest_registers()  # type: ignore[call-arg]
    numbers, starts, lengths = blocks
    dimensions = x.shape[1]
    column, above = empty(x.shape[0], LANES, np.float64).ravel(), empty(3, LANES, np.float64).ravel()
    strip, squares = np.empty(STATES * COORDINATES), empty(STATES, LANES, np.float64).ravel()
    for block in range(first, len(starts) - 1):
        column[:] = np.inf
        above[:LANES], above[LANES:] = np.inf, 0.0  # paths begin in the corner before the first cell, with sum 0
        for j in range((starts[block + 1] - starts[block]) // dimensions):
            state = starts[block] + j * dimensions
            for i in range(0, x.shape[0], STATES):
                squares[:] = 0.0
                for k in range(0, dimensions, COORDINATES):
                    for r in range(STATES):
                        for q in range(COORDINATES):
                            strip[r * COORDINATES + q] = x[i + r, k + q]
                    y = numbers[(state + k) * LANES : (state + k + COORDINATES) * LANES]
                    _add_squares(strip, y, squares)
                _warp(squares, column[i * LANES : (i + STATES) * LANES], above)
            above[: 2 * LANES] = np.inf
            for lane in range(min(LANES, lengths.size - block * LANES)):
                member = block * LANES + lane
                if lengths[member] == (j + 1) * dimensions:  # this state is the member's last one
                    found[0, member] = 1.0 - column[(m - 1) * LANES + lane] / (unit * min(m, j + 1))
                    found[1, member] = above[2 * LANES + lane]
