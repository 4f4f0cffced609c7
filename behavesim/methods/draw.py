"""Random choices from the archive; each depends on its arguments and a generator alone."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from behavesim.state.members import Member

Generator = np.random.Generator

PURPOSES = {"ask": 1, "restart": 2, "place": 3, "deal": 4}
"""A number for each purpose of a generator. It is part of the seed, so two purposes never draw the same numbers."""


PRESSURE = 4.0
"""How strongly programs of better rank are preferred by `falling`: of many, the first is drawn about e^4 = 55 times as
often as the last."""


def generator(seed: int, number: int, purpose: str) -> Generator:
    """Return the generator of one decision: equal arguments give equal draws, whatever happened before.

    `seed` is the run's. `number` is the candidate that the decision is about, or how many are registered. `purpose` is
    a key of PURPOSES or any other text; decisions of different purposes draw different numbers.
    """
    # a user's method may name any purpose; crc32, since Python's own hash differs between processes
    return np.random.default_rng([seed, number, PURPOSES.get(purpose) or crc32(purpose.encode())])


def softmax(logits: ArrayLike) -> NDArray[np.float64]:
    """Return N probabilities that sum to 1, each in proportion to exp(logit), from N logits; ValueError if N is 0."""
    values = np.asarray(logits, dtype=np.float64)
    # the greatest exponent is then 0, so that exp cannot overflow
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def ranks(utilities: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks 1 to N of N utilities, (N,): 1 for the highest; of equal ones the earlier has the lower rank."""
    ranked = np.empty(len(utilities))
    # a stable sort, so that equal utilities have the same ranks on every machine
    ranked[np.argsort(-np.asarray(utilities), kind="stable")] = np.arange(1, len(utilities) + 1)
    return ranked


def rank_probabilities(utilities: Sequence[float]) -> NDArray[np.float64]:
    """Return plain EoH's probabilities of N parents, (N,), ∝ 1 / (rank + N); the highest utility has rank 1."""
    weights = 1.0 / (ranks(utilities) + len(utilities))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def falling(count: int) -> NDArray[np.float64]:
    """Return the probabilities of ranks r = 0 to count − 1, (count,), ∝ exp(−PRESSURE · r / count); count ≥ 1."""
    return softmax(-PRESSURE * np.arange(count) / count)


def only(probabilities: NDArray[np.float64], members: Sequence[Member], among: Sequence[Member]) -> NDArray[np.float64]:
    """Return the probabilities of N members, (N,), if only those of `among` may be drawn; it must hold at least one.

    Their sum is 1. If all that are left have probability 0, they become equally probable.
    """
    if len(among) == len(members):
        return probabilities  # the same bits, so that draws among all are what they were
    left = np.isin([member.candidate for member in members], [member.candidate for member in among])
    weights = np.where(left, probabilities, 0.0)
    # a softmax can underflow to 0 for all that are left
    return np.asarray(weights / weights.sum() if weights.any() else left / left.sum(), dtype=np.float64)


def clusters(members: Sequence[Member]) -> list[list[Member]]:
    """Group members by equal score, in order of first arrival (paper, "Algorithm Database")."""
    groups: dict[float, list[Member]] = {}
    for member in members:
        groups.setdefault(member.score, []).append(member)
    return list(groups.values())


def pick_cluster(groups: Sequence[list[Member]], scale: float, temperature: float, rng: Generator) -> list[Member]:
    """Draw one of the clusters `groups` by a softmax of utility / scale / temperature: higher ones are preferred.

    `scale` is the difference in score that counts as 1. A lower temperature prefers the best more; it is above 0. All
    programs of a cluster have one score. Raises ValueError if there is no cluster.
    """
    # subtracting the greatest changes no probability, and large scores keep their digits
    greatest = max(group[0].utility for group in groups)
    probabilities = softmax([(group[0].utility - greatest) / scale / temperature for group in groups])
    return groups[rng.choice(len(groups), p=probabilities)]


def pick_program(cluster: Sequence[Member], rng: Generator) -> Member:
    """Draw one program of a cluster by a softmax of minus its length, scaled as in FunSearch: prefers shorter ones."""
    # the 1e-6 is FunSearch's, against a division by zero
    lengths = np.array([len(member.source) for member in cluster], dtype=np.float64)
    probabilities = softmax(-(lengths - lengths.min()) / (lengths.max() + 1e-6))
    return cluster[rng.choice(len(cluster), p=probabilities)]
