"""The task of `benchmarks/loop.py`, the same code for every tool: short tours, built city by city."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

INSTANCES, CITIES = 5, 50
ENTRY_POINT = "select_next"
DESCRIPTION = "Build a short tour: choose the city to go to next."
TEMPLATE = '''import numpy as np


def select_next(current: int, unvisited: np.ndarray, distances: np.ndarray) -> int:
    """The city to go to next."""
    steps = distances[current, unvisited]
    onwards = distances[unvisited].mean(axis=1)
    return int(unvisited[np.argmin(steps - 0.1 * onwards)])
'''


@cache
def instances() -> list[np.ndarray]:
    """Return the (CITIES, CITIES) distances of each of the INSTANCES instances, the same in every process."""
    places = np.random.default_rng(7).random((INSTANCES, CITIES, 2))
    return [np.linalg.norm(each[:, None] - each[None], axis=2) for each in places]


def tour(function: Callable[..., Any], distances: np.ndarray) -> np.ndarray:
    """Return the tour, (cities,), from city 0 on that `function` builds by choosing one city after another.

    Choices are not checked here; it does not end while `function` chooses cities that were visited before.
    """
    visited, unvisited = [0], np.arange(1, len(distances))
    while unvisited.size:
        chosen = int(function(visited[-1], unvisited, distances))
        visited.append(chosen)
        unvisited = unvisited[unvisited != chosen]
    return np.array(visited)


def length(distances: np.ndarray, order: np.ndarray) -> float:
    """Return the length of a closed tour; raises ValueError if it does not visit every city once."""
    if sorted(order.tolist()) != list(range(len(distances))):
        raise ValueError("a tour visits every city once")
    return float(distances[order, np.roll(order, -1)].sum())


def mean_length(function: Callable[..., Any]) -> float:
    """Return the mean length of a program's tours over all instances; less is better."""
    return float(np.mean([length(each, tour(function, each)) for each in instances()]))


def program(number: int) -> str:
    """Return the template with a weight that no other number from 0 gives."""
    return TEMPLATE.replace("0.1", f"{(number + 1) / 7919:.9f}")
