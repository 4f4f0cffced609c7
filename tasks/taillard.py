"""Taillard's generator of shop problems (1993): seeds of his lists give the published instances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def fractions(seed: int) -> Iterator[float]:
    """Yield the numbers in (0, 1) that the generator of Bratley, Fox and Schrage gives for a seed, without end."""
    while True:
        seed = 16807 * (seed % 127_773) - 2836 * (seed // 127_773)
        seed += 2_147_483_647 if seed < 0 else 0
        yield seed / 2_147_483_647


def times(seed: int, rows: int, columns: int) -> NDArray[np.int64]:
    """Return the processing times that a seed of Taillard's gives, in 1…99, (rows, columns) int64, row by row."""
    draws = fractions(seed)
    return np.array([[1 + int(next(draws) * 99) for _ in range(columns)] for _ in range(rows)], dtype=np.int64)


def orders(seed: int, jobs: int, machines: int) -> NDArray[np.int64]:
    """Return the order in which each job visits the machines, by a seed of Taillard's: (jobs, machines) int64."""
    draws = fractions(seed)
    found = np.tile(np.arange(machines), (jobs, 1))
    for row in found:
        for place in range(machines):
            other = place + int(next(draws) * (machines - place))
            row[place], row[other] = row[other], row[place]
    return found
