"""The task of `benchmarks/loop.py`, which every tool runs as it stands here: short tours, built city by city."""

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
    """The (CITIES, CITIES) distances of some instances, the same in every process."""
    places = np.random.default_rng(7).random((INSTANCES, CITIES, 2))
    return [np.linalg.norm(each[:, None] - each[None], axis=2) for each in places]


def tour(function: Callable[..., Any], distances: np.ndarray) -> np.ndarray:
    """The tour that a program builds."""
    visited, unvisited = [0], np.arange(1, len(distances))
    while unvisited.size:
        chosen = int(function(visited[-1], unvisited, distances))
        visited.append(chosen)
        unvisited = unvisited[unvisited != chosen]
    return np.array(visited)


def length(distances: np.ndarray, order: np.ndarray) -> float:
    """The length of a closed tour."""
    if sorted(order.tolist()) != list(range(len(distances))):
        raise ValueError("a tour visits every city once")
    return float(distances[order, np.roll(order, -1)].sum())


def mean_length(function: Callable[..., Any]) -> float:
    """What a program is worth: less is better."""
    return float(np.mean([length(each, tour(function, each)) for each in instances()]))


def program(number: int) -> str:
    """A program that nobody wrote before."""
    return TEMPLATE.replace("0.1", f"{(number + 1) / 7919:.9f}")
