"""Distances of programs by the subtrees that their syntax trees do not share."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from behavesim.base.text import parse


def subtree_distances(sources: Sequence[str]) -> NDArray[np.float64]:
    """Return (N, N) distances of programs: 1 − 2 · common subtrees / all subtrees of two syntax trees, in [0, 1].

    Subtrees are counted with repetition. Of a text that is no Python the lines are counted in place of subtrees.
    """
    counters = [_parts(source) for source in sources]
    names = {name: column for column, name in enumerate(dict.fromkeys(name for each in counters for name in each))}
    # one matrix for all programs: numpy takes the minima of a row with all others at once
    counts = np.zeros((len(sources), len(names)), dtype=np.int32)
    for row, each in enumerate(counters):
        counts[row, [names[name] for name in each]] = list(each.values())
    common = np.array([np.minimum(row, counts).sum(axis=1) for row in counts])
    sizes = counts.sum(axis=1)
    found: NDArray[np.float64] = 1 - 2 * common / (sizes[:, None] + sizes[None, :])
    return found


@lru_cache(256)  # the programs of an archive are compared again with every newcomer
def _parts(source: str) -> Mapping[str, int]:
    try:
        nodes = [node for node in ast.walk(parse(source)) if not isinstance(node, ast.expr_context)]
        return Counter(map(ast.dump, nodes))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Counter(source.splitlines() or [""])
