"""Which programs are good together: the order in which a set takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.niches import median_distance
from behavesim.state.members import Member
from behavesim.task import Objective

Matrix = NDArray[np.float64]


def utilities(members: Sequence[Member], objective: Objective) -> Matrix:
    """Return, (N, instances), the scores of N members, negated if the task minimises: higher is better."""
    return objective.utility(1.0) * np.array([member.scores for member in members], dtype=np.float64)


def set_order(
    members: Sequence[Member], gains: Matrix, distances: Matrix | None = None, radius: float = 0.0
) -> list[int]:
    """Return the indices of all N members, at least one, in the order in which a set takes them.

    The first is the best by score. Each next one most improves the mean over instances of the set's best gain. This
    mean is submodular, so greedy choice is near the best. Of equal ones the better by score comes first, then the
    shorter text, then the earlier in `members`. First come those whose distance to all before is at least `radius`
    times the median distance; then the rest, by the same rule without the distance.
    gains: (N, instances), higher is better. distances: (N, N); None if distance does not count.
    """
    standing = sorted(
        range(len(members)), key=lambda place: (-members[place].utility, len(members[place].source), place)
    )
    gains = gains[standing]
    distances = np.zeros((len(members),) * 2) if distances is None else distances[np.ix_(standing, standing)]
    apart = radius * median_distance(distances)
    left, far = np.ones(len(standing), dtype=bool), np.ones(len(standing), dtype=bool)
    best, order = np.full(gains.shape[1], np.inf), list[int]()  # nothing improves on infinity: the best by score leads
    while left.any():
        pool = left & far if (left & far).any() else left
        added = np.where(pool, np.maximum(gains - best, 0.0).sum(axis=1), -1.0)
        place = int(added.argmax())  # the first of equal ones, which stand in order of preference
        best = np.maximum(best, gains[place]) if order else gains[place]
        far &= distances[place] >= apart
        left[place] = False
        order.append(standing[place])
    return order
