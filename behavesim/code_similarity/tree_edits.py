"""Similarity of syntax trees by their edit distance (Zhang and Shasha 1989)."""

from __future__ import annotations

import ast
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from behavesim.base.syntax import parsed

Array = NDArray[np.int64]

KINDS = {name: number for number, name in enumerate(vars(ast))}
"""A number for each name in the module `ast`; those of classes stand for the kinds of syntax tree nodes."""


def ast_similarity(a: str, b: str) -> float:
    """Return 1 - (edit distance of the syntax trees) / (nodes of the larger one), cut to [0, 1]; symmetric.

    Trees of very different shape have 0: their distance exceeds the nodes. Nodes are equal if their kinds are: names
    and constants do not count. Raises SyntaxError if a source is not Python or nested too deep to parse.
    """
    from behavesim.code_similarity.tree_table import tree_distance

    x, y = _postorder(a), _postorder(b)
    return max(0.0, 1 - int(tree_distance(*x, *y)) / max(len(x[0]), len(y[0])))


@lru_cache(64)  # when all programs are compared with all, each would be parsed again for every other
def _postorder(source: str) -> tuple[Array, Array, Array]:
    """Return three arrays: each node's kind in postorder, the index of the first leaf below it, and the keyroots.

    The last child comes first. In Python the last child is usually the largest subtree; starting there halves the work.
    The distance is the same in either order. Raises SyntaxError if the source is not Python.
    """
    labels: list[int] = []
    firsts: list[int] = []

    below: list[tuple[ast.AST, int | None]] = [(_parsed(source), None)]
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


def _parsed(source: str) -> ast.Module:
    """Return the syntax tree; raises SyntaxError if the source is not Python or nested too deep to parse."""
    try:
        return parsed(source)
    except (RecursionError, MemoryError) as error:
        raise SyntaxError("it is nested too deep for Python's parser") from error
