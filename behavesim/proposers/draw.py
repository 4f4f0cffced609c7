"""Random draws from a list or by weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def choose(items: Sequence[T], random: np.random.Generator) -> T:
    """Return one of the items, each with the same probability; there must be at least one."""
    return items[int(random.integers(len(items)))]


def choose_any(items: Sequence[T], random: np.random.Generator) -> T | None:
    """Return one of the items, each with the same probability; None if there is none."""
    return choose(items, random) if items else None


def pick(weights: Mapping[T, float], random: np.random.Generator) -> T:
    """Return one of the keys, each with a probability in proportion to its weight; ValueError if all weights are 0."""
    values = np.array(list(weights.values()), dtype=np.float64)
    # by index: numpy would turn the keys into an array
    return list(weights)[int(random.choice(len(values), p=values / values.sum()))]
