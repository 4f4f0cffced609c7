"""Dominance-dissimilarity: score and behaviour weighed against each other (paper, "EoH+BehaveSim")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from behavesim.state.events import CandidateId
from behavesim.state.members import Member

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def dissimilarity(utility: Vector, similarity: Matrix) -> Vector:
    """v of the paper's algorithms "Parent Selection" and "Population Management", (N,), 0 or less.

    An algorithm that none dominates has 0; a dominated one loses as much as it resembles those that dominate it. The
    objectives are the score, here as (N,) utilities, and the similarity to the best algorithm, which shall be small.
    `similarity` is (N, N) in [0, 1]; of several best the first counts as the best ever found.
    """
    to_best = similarity[int(utility.argmax())]
    no_worse = (utility[:, None] >= utility[None, :]) & (to_best[:, None] <= to_best[None, :])
    better = (utility[:, None] > utility[None, :]) | (to_best[:, None] < to_best[None, :])
    dominates = no_worse & better  # D[i, j] = 1 iff P[i] ≺ P[j]; the diagonal is 0, for none is better than itself
    return np.asarray(-(similarity * dominates).sum(axis=0), dtype=np.float64)  # ColumnwiseSum(S ⊙ D), S = −BehaveSim


def survivors(members: Sequence[Member], values: Sequence[float], size: int) -> list[CandidateId]:
    """The members that stay (paper, "Population Management"): those of greatest value, and the best by score always.

    Equal values are told apart by score, then by age: the older stays.
    """
    best = max(members, key=lambda member: member.merit)
    ranked = sorted(
        zip(members, values, strict=True),
        key=lambda pair: (pair[0] is not best, -pair[1], -pair[0].utility, pair[0].candidate),
    )
    return sorted(member.candidate for member, _ in ranked[:size])


def similarities(members: Sequence[Member]) -> Matrix:
    """(N, N) similarities of members in order of age, as each was compared with its elders when it came."""
    matrix = np.ones((len(members), len(members)))
    for row, younger in enumerate(members):
        for column, elder in enumerate(members[:row]):
            matrix[row, column] = matrix[column, row] = younger.similarity[elder.candidate]
    return matrix
