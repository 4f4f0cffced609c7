"""The task of `loop_walks.py` for behavesim. It is a file of its own, as the peers' environments have no behavesim."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.task import InvalidSolution, Objective, Task
from behavesim.trajectory import Trajectory

sys.path.insert(0, str(Path(__file__).parent))

import loop_walks as walks


class Walks(Task):
    """Short tours of 50 cities, built city by city; scores are mean lengths."""

    name = "walks"
    description = walks.DESCRIPTION
    template = walks.TEMPLATE
    entry_point = walks.ENTRY_POINT
    objective = Objective("minimise", None)
    normaliser = float(walks.CITIES)

    def instances(self, split: str) -> Sequence[Any]:
        """Return the five distance matrices for "search", and nothing for other splits."""
        return walks.instances() if split == "search" else ()

    def solve(self, function: Any, instance: Any) -> Any:
        """Return the tour that a program builds."""
        return walks.tour(function, instance)

    def score(self, instance: Any, solution: Any) -> float:
        """Return the length of the tour; raises InvalidSolution if it does not visit every city once."""
        try:
            return walks.length(instance, np.asarray(solution))
        except ValueError as error:
            raise InvalidSolution(str(error)) from error

    def trajectory(self, instance: Any, solution: Any) -> Trajectory:
        """Return the tour's cities as prefixes."""
        return Trajectory.prefixes(solution)


task = Walks()
