"""Similarity of syntax trees: the edits that turn one tree into the other (Zhang and Shasha 1989)."""

from __future__ import annotations

import ast
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]

KINDS = {name: number for number, name in enumerate(vars(ast))}
"""A number for each kind of node."""


def ast_similarity(a: str, b: str) -> float:
    """1 - the edit distance of the syntax trees / the nodes of the larger one, in [0, 1]; symmetric.

    A node is known by its kind alone, not by the names and numbers in it. Raises SyntaxError for what is not Python.
    """
    from behavesim.code_similarity.tree_table import tree_distance

    x, y = _postorder(a), _postorder(b)
    return 1 - int(tree_distance(*x, *y)) / max(len(x[0]), len(y[0]))


@lru_cache(64)  # of programs that are compared with one another, each would be read once for every other
def _postorder(source: str) -> tuple[Array, Array, Array]:
    """The kind of each node, children before parents, the first leaf below it, and the keyroots.

    The last child comes first: what is said last in Python mostly has most below it, so that there is less to repeat
    for the others, and the distance is half the work; it is the same from either end.
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
    first_leaves = np.array(firsts)
    return np.array(labels), first_leaves, _keyroots(first_leaves)


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (RecursionError, MemoryError) as error:
        raise SyntaxError("it is nested too deep for Python's parser") from error


def _keyroots(firsts: Array) -> Array:
    """The last node with each first leaf, in order: the trees whose tables hold those of all others."""
    return np.array(sorted({first: node for node, first in enumerate(firsts.tolist())}.values()))
