"""CPU times of actions that are run in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from process_tree import ended_children_s


def cpu_seconds() -> float:
    """Return the CPU seconds of this process so far, and of its ended children, which it has waited for."""
    return time.process_time() + ended_children_s()


def interleaved(rounds: int, *actions: Callable[[], object]) -> list[float]:
    """Return the median CPU seconds of each action over `rounds` rounds, in each of which all actions run in turn.

    One round more comes first and does not count.
    """
    times: list[list[float]] = [[] for _ in actions]
    for turn in range(rounds + 1):
        for action, taken in zip(actions, times, strict=True):
            start = cpu_seconds()
            action()
            if turn:
                taken.append(cpu_seconds() - start)
    return [statistics.median(taken) for taken in times]


def repeated(action: Callable[[], object], count: int) -> Callable[[], None]:
    """Return a function that does the action `count` times: once is too short for the clock."""

    def many() -> None:
        for _ in range(count):
            action()

    return many
