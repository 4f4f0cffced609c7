"""The peers: the fastest packages for edit distances and DTW, and the way of published code."""

from __future__ import annotations

from typing import Any

import editdistance
import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from tslearn.metrics import _dtw as tslearn_dtw


def text(tokens: Any) -> str:
    """Return tokens, numbers of 0 or more, as a string with one character each: what rapidfuzz compares fastest.

    All characters have one width: tokens up to 255 keep their numbers, with a larger one all are moved up by 0x4E00.
    """
    first = 0x4E00 if max(tokens, default=0) > 255 else 0
    return "".join(chr(first + int(token)) for token in tokens)


def prefixes(tokens: Any) -> list[str]:
    """Return the states of a trajectory of prefixes as strings: the first token, the first two, … all."""
    return [text(tokens[: i + 1]) for i in range(len(tokens))]


def compiled_dtw(cost: Any) -> float:
    """Return the DTW distance of an (N, M) matrix of costs: the least sum of costs along a path through it.

    It is tslearn's compiled recurrence, without its checks and its search for the path.
    """
    return float(tslearn_dtw._njit_acc_matrix_from_dist_matrix(cost, np.ones(cost.shape, np.bool_))[-1, -1])


def best_peer(x: list[str], y: list[str], scale: Any) -> float:
    """Return Sim of two trajectories, given as states in strings, by rapidfuzz's edit distances and tslearn's DTW.

    `scale` is 1 / normaliser, as a number or an (N, M) array, and multiplies the distances.
    """
    cost = cdist(x, y, scorer=Levenshtein.distance, dtype=np.float64, workers=1) * scale
    return 1.0 - compiled_dtw(cost) / min(len(x), len(y))


def published(x: list[list[int]], y: list[list[int]], normaliser: float) -> float:
    """Return Sim of two trajectories as published code computes it: editdistance for each cell, a DTW in Python."""
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0.0
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            distance = editdistance.eval(a, b) / normaliser
            table[i + 1, j + 1] = distance + min(table[i, j + 1], table[i + 1, j], table[i, j])
    return float(1.0 - table[-1, -1] / min(len(x), len(y)))
