"""Draws from the archive, each a pure function of its arguments and a generator."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from behavesim.state.members import Member

Generator = np.random.Generator

PURPOSES = {"ask": 1, "restart": 2, "place": 3, "deal": 4}
"""What a generator is for; the number is part of its seed, so that no two decisions share their randomness."""


def generator(seed: int, number: int, purpose: str) -> Generator:
    """The generator of one decision; equal arguments give equal draws, whatever happened before."""
    return np.random.default_rng([seed, number, PURPOSES.get(purpose) or crc32(purpose.encode())])


def softmax(logits: ArrayLike) -> NDArray[np.float64]:
    """Probabilities proportional to exp(logits), without overflow."""
    values = np.asarray(logits, dtype=np.float64)
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def clusters(members: Sequence[Member]) -> list[list[Member]]:
    """Members grouped by identical score, in order of first arrival (paper, "Algorithm Database")."""
    groups: dict[float, list[Member]] = {}
    for member in members:
        groups.setdefault(member.score, []).append(member)
    return list(groups.values())


def pick_cluster(groups: Sequence[list[Member]], scale: float, temperature: float, rng: Generator) -> list[Member]:
    """One cluster, higher scores preferred: a softmax of utility / scale at the given temperature."""
    greatest = max(group[0].utility for group in groups)
    probabilities = softmax([(group[0].utility - greatest) / scale / temperature for group in groups])
    return groups[rng.choice(len(groups), p=probabilities)]


def pick_program(cluster: Sequence[Member], rng: Generator) -> Member:
    """One program of a cluster, shorter ones preferred: a softmax over their lengths, standardised as in FunSearch."""
    lengths = np.array([len(member.source) for member in cluster], dtype=np.float64)
    probabilities = softmax(-(lengths - lengths.min()) / (lengths.max() + 1e-6))
    return cluster[rng.choice(len(cluster), p=probabilities)]
