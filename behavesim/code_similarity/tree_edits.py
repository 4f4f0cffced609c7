"""Similarity of syntax trees: the edits that turn one tree into the other (Zhang and Shasha 1989)."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]


def ast_similarity(a: str, b: str) -> float:
    """1 - the edit distance of the syntax trees / the nodes of the larger one, in [0, 1]; symmetric.

    A node is known by its kind alone, not by the names and numbers in it. Raises SyntaxError for what is not Python.
    """
    from behavesim.code_similarity.tree_table import tree_distance

    left, right = ast.parse(a), ast.parse(b)
    kinds: dict[str, int] = {}
    (x, x_first), (y, y_first) = _postorder(left, kinds), _postorder(right, kinds)
    return 1 - int(tree_distance(x, x_first, _keyroots(x_first), y, y_first, _keyroots(y_first))) / max(len(x), len(y))


def _postorder(tree: ast.AST, kinds: dict[str, int]) -> tuple[Array, Array]:
    """The kind of each node, children before parents, and the first leaf below it."""
    labels: list[int] = []
    firsts: list[int] = []

    def visit(node: Any) -> int:
        below = [visit(child) for child in ast.iter_child_nodes(node)]
        first = below[0] if below else len(labels)
        labels.append(kinds.setdefault(type(node).__name__, len(kinds)))
        firsts.append(first)
        return first

    visit(tree)
    return np.array(labels), np.array(firsts)


def _keyroots(firsts: Array) -> Array:
    """The last node with each first leaf, in order: the trees whose tables hold those of all others."""
    return np.array(sorted({first: node for node, first in enumerate(firsts.tolist())}.values()))
