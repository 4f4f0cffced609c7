"""Vector trajectories, one against an archive: distances and DTW of 16 members abreast, in float64.

A block holds 16 members, `rows[start + j * dimensions + k, lane]` coordinate k of their state j, padded with NaN. The
members' states come one after another; a tile of the candidate's states reads each coordinate once. What comes after a
member's last state, or after the candidate's, is NaN and stays behind, for no earlier cell depends on a later one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int32, int64, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from behavesim.similarity.kernels import OPTIONS
from behavesim.similarity.kernels.vectors import INDEX, Lanes, arrays, index, warp

LANES = 16
TILE = 4
"""States of the candidate that share the reading of a member's coordinates."""

Array = NDArray[Any]


@intrinsic
def _tile(typing_context: Any, candidate: Any, first: Any, members: Any, start: Any, path: Any, carry: Any) -> Any:
    """Distances of TILE states of the candidate, from `first` on, to the members' state at `start`, and their DTW.

    For `path` and `carry` see `vectors.warp`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, members, path, carry = arrays(context, builder, signature, arguments, 0, 2, 4, 5)
        first, start = arguments[1], arguments[3]
        lanes = Lanes(builder, ir.DoubleType(), LANES)
        dimensions = builder.extract_value(x.shape, 1)
        states = [builder.add(first, index(r)) for r in range(TILE)]
        squares = lanes.variables([lanes.constant(0.0)] * TILE)
        with cgutils.for_range(builder, dimensions, intp=INDEX) as loop:
            y_k = lanes.load(members.data, builder.mul(builder.add(start, loop.index), index(LANES)))
            for i, square in zip(states, squares, strict=True):
                position = builder.add(builder.mul(i, dimensions), loop.index)
                difference = builder.fsub(lanes.splat(builder.load(builder.gep(x.data, [position]))), y_k)
                builder.store(lanes.fused(difference, difference, builder.load(square)), square)

        warp(lanes, path, carry, states, [lanes.root(builder.load(square)) for square in squares])
        return context.get_dummy_value()

    return types.void(candidate, first, members, start, path, carry), generate


def _read(dtype: Any, dimensions: int) -> Any:
    return types.Array(dtype, dimensions, "C", readonly=True)


_arguments = (_read(float64, 2), int64, _read(float64, 2), _read(int64, 1), _read(int32, 1), int64, float64)


@njit(types.void(*_arguments, float64[::1], float64[::1]), **OPTIONS)
def similarities(
    x: Array, m: int, rows: Array, starts: Array, lengths: Array, first: int, unit: float, out: Array, largest: Array
) -> None:
    """Sim of the candidate and each member from block `first` on, unclipped, into `out`.

    x: (m and padding to a multiple of TILE, dimensions), padded with NaN. lengths: coordinates in all, of each member.
    largest: gets the greatest distance that occurs between the states of the candidate and of each member.
    """
    dimensions = x.shape[1]
    path = np.empty((x.shape[0], LANES))
    carry = np.empty((3, LANES))
    for block in range(first, (lengths.size + LANES - 1) // LANES):
        path[:] = np.inf
        carry[:] = np.inf
        carry[1:] = 0.0  # into the first cell a path comes from the corner, at no cost
        for j in range((starts[block + 1] - starts[block]) // dimensions):
            for i in range(0, x.shape[0], TILE):
                _tile(x, i, rows, starts[block] + j * dimensions, path, carry)  # type: ignore[call-arg]
            carry[:2] = np.inf
            for lane in range(min(LANES, lengths.size - block * LANES)):
                member = block * LANES + lane
                if lengths[member] == (j + 1) * dimensions:
                    out[member] = 1.0 - path[m - 1, lane] / (unit * min(m, j + 1))
                    largest[member] = carry[2, lane]
