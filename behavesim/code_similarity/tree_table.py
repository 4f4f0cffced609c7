"""The tree edit distance, compiled by numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, njit, types
from numpy.typing import NDArray

Array = NDArray[np.int64]
_ARRAY = types.Array(int64, 1, "C", readonly=False)


@njit(int64(*[_ARRAY] * 6), cache=True)
def tree_distance(x: Array, x_first: Array, x_roots: Array, y: Array, y_first: Array, y_roots: Array) -> Any:
    """Return the least number of nodes to insert, delete or relabel that turns one tree into the other.

    x, y: (nodes,) labels in postorder. x_first, y_first: (nodes,) index of the first leaf below each node, for a leaf
    its own. x_roots, y_roots: the indices of the keyroots, ascending.
    """
    trees = np.zeros((len(x), len(y)), np.int64)
    forests = np.zeros((len(x) + 1, len(y) + 1), np.int64)
    for i in x_roots:
        for j in y_roots:
            a, b = x_first[i], y_first[j]
            for t in range(j - b + 2):
                forests[0, t] = t
            for s in range(1, i - a + 2):
                p = a + s - 1
                above, here, before, known = forests[s - 1], forests[s], forests[x_first[p] - a], trees[p]
                is_tree, edits = x_first[p] == a, s
                here[0] = s
                for t in range(1, j - b + 2):
                    q = b + t - 1
                    least = min(above[t], edits) + 1
                    if is_tree and y_first[q] == b:
                        edits = min(least, above[t - 1] + (x[p] != y[q]))
                        known[q] = edits
                    else:
                        edits = min(least, before[y_first[q] - b] + known[q])
                    here[t] = edits
    return trees[len(x) - 1, len(y) - 1]
