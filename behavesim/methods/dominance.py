"""Dominance-dissimilarity: ranks programs by score and by behaviour together (paper, "EoH+BehaveSim")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from behavesim.state.events import CandidateId
from behavesim.state.members import Member

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def dissimilarity(utility: Vector, similarity: Matrix) -> Vector:
    """Return for each of N programs minus the sum of its similarities to those that dominate it: (N,), each 0 or less.

    `utility` is (N,), greater is better; `similarity` is (N, N) in [0, 1]; N is at least 1. There are two objectives: a
    high utility, and a low similarity to the best program, which is the first with the highest utility. One program
    dominates another if it is no worse in both and better in one. The result is called v in the paper's algorithms
    "Parent Selection" and "Population Management".
    """
    to_best = similarity[int(utility.argmax())]
    no_worse = (utility[:, None] >= utility[None, :]) & (to_best[:, None] <= to_best[None, :])
    better = (utility[:, None] > utility[None, :]) | (to_best[:, None] < to_best[None, :])
    dominates = no_worse & better  # D[i, j] = 1 iff P[i] ≺ P[j]; 0 on the diagonal
    return np.asarray(-(similarity * dominates).sum(axis=0), dtype=np.float64)  # ColumnwiseSum(S ⊙ D), S = −BehaveSim


def survivors(members: Sequence[Member], values: Sequence[float], size: int) -> list[CandidateId]:
    """Return the numbers of the `size` members that stay, oldest first; of all if there are fewer.

    The best by score always stays. The others stay in order of `values`, one for each member, higher first; then by
    score, then by age, older first (paper, "Population Management"). Raises ValueError if there is no member, or not
    one value for each.
    """
    best = max(members, key=lambda member: member.merit)
    ranked = sorted(
        zip(members, values, strict=True),
        # False sorts before True, so the best by score comes first whatever its value
        key=lambda pair: (pair[0] is not best, -pair[1], -pair[0].utility, pair[0].candidate),
    )
    return sorted(member.candidate for member, _ in ranked[:size])


def similarities(members: Sequence[Member]) -> Matrix:
    """Return the (N, N) similarities of members, given oldest first, from `Member.similarity`; 1 on the diagonal.

    Raises KeyError if a member was not compared with an older one when it joined.
    """
    # 1 on the diagonal: a program is as similar to itself as can be
    matrix = np.ones((len(members), len(members)))
    for row, younger in enumerate(members):
        for column, elder in enumerate(members[:row]):
            matrix[row, column] = matrix[column, row] = younger.similarity[elder.candidate]
    return matrix
