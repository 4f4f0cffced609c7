"""The tables of the tree edit distance, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, njit, types
from numpy.typing import NDArray

Array = NDArray[np.int64]
_ARRAY = types.Array(int64, 1, "C", readonly=False)


@njit(int64(*[_ARRAY] * 6), cache=True)
def tree_distance(x: Array, x_first: Array, x_roots: Array, y: Array, y_first: Array, y_roots: Array) -> Any:
    """The least number of nodes to insert, delete or relabel between two trees.

    x, y: (nodes,) labels in postorder; *_first: the first leaf below each node; *_roots: the keyroots, ascending.
    """
    trees = np.zeros((len(x), len(y)), np.int64)
    forests = np.zeros((len(x) + 1, len(y) + 1), np.int64)
    for i in x_roots:
        for j in y_roots:
            a, b = x_first[i], y_first[j]
            for s in range(i - a + 2):
                forests[s, 0] = s
            for t in range(j - b + 2):
                forests[0, t] = t
            for s in range(1, i - a + 2):
                for t in range(1, j - b + 2):
                    p, q = a + s - 1, b + t - 1
                    least = min(forests[s - 1, t], forests[s, t - 1]) + 1
                    if x_first[p] == a and y_first[q] == b:
                        forests[s, t] = min(least, forests[s - 1, t - 1] + (x[p] != y[q]))
                        trees[p, q] = forests[s, t]
                    else:
                        forests[s, t] = min(least, forests[x_first[p] - a, y_first[q] - b] + trees[p, q])
    return trees[len(x) - 1, len(y) - 1]
