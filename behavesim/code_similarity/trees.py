"""Similarity of syntax trees by their edit distance (Zhang and Shasha 1989), compiled by numba."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

import numpy as np
from numba import int64, njit, types
from numpy.typing import NDArray

from behavesim.base.text import parse

Array = NDArray[np.int64]
_ARRAY = types.Array(int64, 1, "C", readonly=False)


@njit(int64(*[_ARRAY] * 6), cache=True)
def tree_distance(x: Array, x_first: Array, x_roots: Array, y: Array, y_first: Array, y_roots: Array) -> Any:
    """Return the least number of nodes to insert, delete or relabel that turns one tree into the other.

    x, y: (nodes,) labels in postorder. x_first, y_first: index of the first leaf below each node. x_roots, y_roots: the
    keyroots, ascending.
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


# A number for each name in the module `ast`; those of classes stand for the kinds of syntax tree nodes.
KINDS = {name: number for number, name in enumerate(vars(ast))}


def ast_similarity(a: str, b: str) -> float:
    """Return 1 - (edit distance of the syntax trees) / (nodes of the larger one), cut to [0, 1]; symmetric.

    Nodes are equal if their kinds are: names and constants do not count. Raises SyntaxError if a source is not Python
    or nested too deep to parse.
    """

    x, y = _postorder(a), _postorder(b)
    return max(0.0, 1 - int(tree_distance(*x, *y)) / max(len(x[0]), len(y[0])))


@lru_cache(64)  # when all programs are compared with all, each would be parsed again for every other
def _postorder(source: str) -> tuple[Array, Array, Array]:
    """Return three arrays: each node's kind in postorder, the index of the first leaf below it, and the keyroots."""
    # The last child comes first. In Python the last child is usually the largest subtree; starting there halves the
    # work. The distance is the same in either order.
    labels: list[int] = []
    firsts: list[int] = []

    below: list[tuple[ast.AST, int | None]] = [(_parse(source), None)]
    while below:  # a chain of 500 `elif` is 500 levels deep: too deep for calls
        node, first = below.pop()
        if first is None:
            below.append((node, len(labels)))
            below += [(child, None) for child in ast.iter_child_nodes(node)]
        else:
            labels.append(KINDS[type(node).__name__])
            firsts.append(first)
    keyroots = sorted({first: node for node, first in enumerate(firsts)}.values())  # the last node of each first leaf
    return np.array(labels), np.array(firsts), np.array(keyroots)


def _parse(source: str) -> ast.Module:
    try:
        return parse(source)
    except (RecursionError, MemoryError) as error:
        raise SyntaxError("it is nested too deep for Python's parser") from error
