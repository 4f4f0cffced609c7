"""Vector trajectories, one against many: distances and DTW of 32 of the many side by side, in float64.

A block holds 32 members, `rows[start + j * dimensions + k, lane]` coordinate k of their state j, padded with NaN. The
members' states come one after another; a strip of the candidate's states reads each coordinate once. What comes after a
member's last state, or after the candidate's, is NaN and stays behind, for no earlier cell depends on a later one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int32, int64, types
from numpy.typing import NDArray

from behavesim.similarity.kernels.compiler import empty, inline, kernel, multiply_add, read, use_widest_registers

LANES = 32
"""Members in a block; one lane each."""
STATES = 4
"""States of the candidate that share the reading of a member's coordinates."""
COORDINATES = 2
"""Coordinates that are added to a sum of squares between reading and writing it."""

Array = NDArray[Any]


@inline
def _add_squares(x: Array, y: Array, squares: Array) -> None:
    """Add what some coordinates contribute to the squared distances.

    x: (STATES * COORDINATES,) those of the candidate; y: (COORDINATES * LANES,); squares: (STATES * LANES,).
    """
    for lane in range(LANES):
        for r in range(STATES):
            square = squares[r * LANES + lane]
            for k in range(COORDINATES):
                difference = x[r * COORDINATES + k] - y[k * LANES + lane]
                square = multiply_add(difference, difference, square)  # type: ignore[call-arg]
            squares[r * LANES + lane] = square


@inline
def _warp(squares: Array, column: Array, above: Array) -> None:
    """The least sums of distances along a path in a strip of a column, which holds those of the column before.

    above: three numbers for each lane, all brought up to date: the sums in the cell above the strip, in this column and
    in the one before, and the greatest distance so far.
    """
    for lane in range(LANES):
        up, corner, largest = above[lane], above[LANES + lane], above[2 * LANES + lane]
        for r in range(STATES):
            distance = math.sqrt(squares[r * LANES + lane])
            left = column[r * LANES + lane]
            up = distance + min(min(left, corner), up)
            corner = left
            column[r * LANES + lane] = up
            largest = distance if distance > largest else largest  # NaN never is
        above[lane], above[LANES + lane], above[2 * LANES + lane] = up, corner, largest


@kernel(
    types.void(
        read(float64, 2),
        int64,
        read(float64),
        read(int64),
        read(int32),
        int64,
        float64,
        float64[::1],
        float64[::1],
    )
)
def similarities(
    x: Array, m: int, numbers: Array, starts: Array, lengths: Array, first: int, unit: float, out: Array, largest: Array
) -> None:
    """Sim of the candidate and each member from block `first` on, unclipped, into `out`.

    x: (m and padding to a multiple of STATES, dimensions), padded with NaN; dimensions: a multiple of COORDINATES.
    numbers: the rows of all blocks, one after another. lengths: coordinates in all, of each member.
    largest: gets the greatest distance that occurs between the states of the candidate and of each member.
    """
    use_widest_registers()  # type: ignore[call-arg]
    dimensions = x.shape[1]
    column, above = empty(x.shape[0], LANES, np.float64).ravel(), empty(3, LANES, np.float64).ravel()
    strip, squares = np.empty(STATES * COORDINATES), empty(STATES, LANES, np.float64).ravel()
    for block in range(first, (lengths.size + LANES - 1) // LANES):
        column[:] = np.inf
        above[:LANES] = np.inf
        above[LANES:] = 0.0  # into the first cell a path comes from the corner, at no cost
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
                if lengths[member] == (j + 1) * dimensions:
                    out[member] = 1.0 - column[(m - 1) * LANES + lane] / (unit * min(m, j + 1))
                    largest[member] = above[2 * LANES + lane]
