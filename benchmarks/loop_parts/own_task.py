"""The task for behavesim."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.task import InvalidSolution, Objective, Task
from behavesim.trajectory import Trajectory

sys.path.insert(0, str(Path(__file__).parent))

import walks


class Walks(Task):
    """Tours through a few cities."""

    name = "walks"
    description = walks.DESCRIPTION
    template = walks.TEMPLATE
    entry_point = walks.ENTRY_POINT
    objective = Objective("minimise", None)
    normaliser = float(walks.CITIES)

    def instances(self, split: str) -> Sequence[Any]:
        """Those of the search; there are no others."""
        return walks.instances() if split == "search" else ()

    def solve(self, function: Any, instance: Any) -> Any:
        """The tour."""
        return walks.tour(function, instance)

    def score(self, instance: Any, solution: Any) -> float:
        """Its length."""
        try:
            return walks.length(instance, np.asarray(solution))
        except ValueError as error:
            raise InvalidSolution(str(error)) from error

    def trajectory(self, instance: Any, solution: Any) -> Trajectory:
        """Its cities, one after another."""
        return Trajectory.prefixes(solution)


task = Walks()
