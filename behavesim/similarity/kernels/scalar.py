"""Kernels of one pair: distances between states, and the measures over them. Tests compare faster kernels with these.

Index i runs over the m states of x, j over the n states of y; `cost[i, j]` is the distance of two states. Distances
are float64, in which sums of integers below 2**53 are exact.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, int64, types
from numpy.typing import NDArray

from behavesim.similarity.kernels import kernel, multiply_add, read, together

Matrix = NDArray[Any]
Tokens = NDArray[np.int64]

_tokens, _numbers, _matrix = read(int64), read(float64), read(float64, 2)
# An integer sum for cells that no path reaches. A path of n states sums to less than 2 * n**2, so n may be 2**30.
_UNREACHED = 2**62


@kernel(float64[:, ::1](_tokens, _tokens))
def edit_table(x: Tokens, y: Tokens) -> Matrix:
    """Return Levenshtein's table without its border: [i, j] is the edit distance of x[: i + 1] and y[: j + 1]."""
    table = np.empty((x.size, y.size))
    for i in range(x.size):
        for j in range(y.size):
            up = table[i - 1, j] if i else j + 1
            left = table[i, j - 1] if j else i + 1
            diagonal = table[i - 1, j - 1] if i and j else max(i, j)
            table[i, j] = min(min(up, left) + 1, diagonal + (x[i] != y[j]))
    return table


@kernel(together(int64, int64)(_tokens, _tokens))
def edit_distances(x: Tokens, y: Tokens) -> Any:
    """Return the Levenshtein distance of two sequences, and the largest one of a prefix of x and a prefix of y.

    Prefixes have at least one token. Where x or y is empty, both results are the length of the other.
    """
    if x.size == 0 or y.size == 0:
        return max(x.size, y.size), max(x.size, y.size)
    # one row of Levenshtein's table, overwritten from left to right: `diagonal` keeps what the step before overwrote
    row, largest = np.arange(1, y.size + 1), 0
    for i in range(x.size):
        diagonal, left = i, i + 1
        for j in range(y.size):
            left, diagonal = min(min(row[j], left) + 1, diagonal + (x[i] != y[j])), row[j]
            row[j] = left
            largest = max(largest, left)
    return row[-1], largest


@kernel(int64(_tokens, _tokens))
def set_distance(x: Tokens, y: Tokens) -> Any:
    """Return how many edits (insert, delete, replace) turn one set into the other, given as ascending tokens."""
    i, j, common = 0, 0, 0
    while i < x.size and j < y.size:
        common += x[i] == y[j]
        i, j = i + (x[i] <= y[j]), j + (y[j] <= x[i])
    return max(x.size, y.size) - common


@kernel(float64[:, ::1](_tokens, _tokens, _tokens, _tokens, boolean))
def token_costs(x: Tokens, x_ends: Tokens, y: Tokens, y_ends: Tokens, are_sets: bool) -> Matrix:
    """Return the (m, n) distances of all pairs of states: `set_distance` if they are sets, else the edit distance.

    x and y hold the tokens of all states, end to end; x_ends and y_ends say where each state ends.
    """
    cost = np.empty((x_ends.size, y_ends.size))
    for i in range(x_ends.size):
        x_i = x[x_ends[i - 1] if i else 0 : x_ends[i]]
        for j in range(y_ends.size):
            y_j = y[y_ends[j - 1] if j else 0 : y_ends[j]]
            cost[i, j] = set_distance(x_i, y_j) if are_sets else edit_distances(x_i, y_j)[0]
    return cost


@kernel(float64[:, ::1](_matrix, _matrix))
def vector_costs(x: Matrix, y: Matrix) -> Matrix:
    """Return the (m, n) Euclidean distances of all pairs of rows of x and y.

    They are computed from differences, not by a matrix product, so that equal states have a distance of exactly 0.
    """
    cost = np.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            square = 0.0
            for k in range(x.shape[1]):
                difference = x[i, k] - y[j, k]
                square = multiply_add(difference, difference, square)  # type: ignore[call-arg]
            cost[i, j] = math.sqrt(square)
    return cost


@kernel(float64(_matrix))
def dtw(cost: Matrix) -> Any:
    """Return the smallest sum of costs along an alignment path: dynamic time warping (paper, DTW(X, Y))."""
    row, diagonal = np.full(cost.shape[1] + 1, np.inf), 0.0  # paths begin in the corner before the first cell
    for i in range(cost.shape[0]):
        for j in range(cost.shape[1]):
            best = min(min(row[j + 1], row[j]), diagonal)
            diagonal, row[j + 1] = row[j + 1], cost[i, j] + best
        diagonal = np.inf
    return row[-1]


@kernel(float64(_matrix, _numbers, _numbers))
def erp(cost: Matrix, x_gap: Matrix, y_gap: Matrix) -> Any:
    """Return the smallest cost of matching states in order or leaving them out: edit distance with real penalty (ERP).

    cost: (m, n) of matching. x_gap, y_gap: (m,) and (n,) of leaving a state out: its distance to the reference state.
    """
    # the row above the first: all states of y left out
    row = np.zeros(cost.shape[1] + 1)
    for j in range(cost.shape[1]):
        row[j + 1] = row[j] + y_gap[j]
    for i in range(cost.shape[0]):
        diagonal = row[0]
        row[0] += x_gap[i]
        for j in range(cost.shape[1]):
            best = min(min(row[j + 1] + x_gap[i], row[j] + y_gap[j]), diagonal + cost[i, j])
            diagonal, row[j + 1] = row[j + 1], best
    return row[-1]


@kernel(float64(_matrix, _matrix))
def mean_cosine(x: Matrix, y: Matrix) -> Any:
    """Return the mean cosine, -1 to 1, between the segments from state to state of x and y at equal steps.

    The shorter one must have at least two states. Two segments of length 0 count as 1; one of length 0 counts as 0.
    """
    segments = min(x.shape[0], y.shape[0]) - 1
    total = 0.0
    for i in range(segments):
        x_scale, y_scale = 0.0, 0.0  # scaled, so that squares do not overflow
        for k in range(x.shape[1]):
            x_scale, y_scale = max(x_scale, abs(x[i + 1, k] - x[i, k])), max(y_scale, abs(y[i + 1, k] - y[i, k]))
        if x_scale > 0.0 and y_scale > 0.0:
            xy, xx, yy = 0.0, 0.0, 0.0
            for k in range(x.shape[1]):
                a, b = (x[i + 1, k] - x[i, k]) / x_scale, (y[i + 1, k] - y[i, k]) / y_scale
                xy, xx, yy = xy + a * b, xx + a * a, yy + b * b
            total += min(max(xy / math.sqrt(xx * yy), -1.0), 1.0)  # in this order NaN, of an overflow, stays NaN
        elif x_scale == y_scale:
            total += 1.0
    return total / segments


@kernel(int64(_tokens, _tokens, types.none), float64(_tokens, _tokens, _numbers))
def prefix_dtw(x: Tokens, y: Tokens, reciprocals: Any) -> Any:
    """Return the DTW of two growing sequences, in one pass: its recurrence reads the cells that edit distances read.

    reciprocals: None for `dtw(edit_table(x, y))`, as an integer. Else each edit distance is divided by the length of
    the longer of its two prefixes: (the longer length,) where reciprocals[k] is 1 / (k + 1).
    """
    unreached = _UNREACHED if reciprocals is None else np.inf
    edit, path = np.arange(1, y.size + 1), np.full(y.size, unreached)
    path_corner = 0 if reciprocals is None else 0.0  # paths begin in the corner before the first cell
    for i in range(x.size):
        edit_corner, edit_left = i, i + 1
        path_left = unreached
        for j in range(y.size):
            edit_up, path_up = edit[j], path[j]
            # the left neighbour comes last in each minimum, as it is computed last
            edit_left = edit_corner if x[i] == y[j] else min(min(edit_up, edit_corner), edit_left) + 1
            best = min(min(path_up, path_corner), path_left)
            if reciprocals is None:
                path_left = best + edit_left
            else:
                path_left = multiply_add(edit_left, reciprocals[max(i, j)], best)  # type: ignore[call-arg]
            edit[j], path[j] = edit_left, path_left
            edit_corner, path_corner = edit_up, path_up
        path_corner = unreached
    return path[-1]
