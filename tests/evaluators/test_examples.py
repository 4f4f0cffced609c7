"""The tasks that docs/how-to/evaluators.md shows as splits of an evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from behavesim.task import InvalidSolution, Task, TaskReference

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


def solved(name: str) -> tuple[Task, Any, Any]:
    """A task, its first instance, and what the template finds there."""
    task = TaskReference(str(EXAMPLES / name)).load()
    names: dict[str, Any] = {}
    exec(task.template, names)
    instance = task.instances("search")[0]
    return task, instance, task.solve(names[task.entry_point], instance)


def test_a_packing_is_judged_by_its_circles() -> None:
    task, count, solution = solved("packing.py")
    score = task.score(count, solution)
    assert float(score) == pytest.approx(7 * 0.15)
    assert len(task.trajectory(count, solution)) == count
    with pytest.raises(InvalidSolution, match="overlap"):
        task.score(count, {**solution, "centres": np.full((count, 2), 0.5)})
    with pytest.raises(InvalidSolution, match="are wanted"):
        task.score(count, {**solution, "radii": np.full(count, np.nan)})


def test_a_minimum_is_judged_by_its_point() -> None:
    task, shift, points = solved("minimum.py")
    assert float(task.score(shift, points)) < float(task.score(shift, points[::-1]))
    with pytest.raises(InvalidSolution, match="are wanted"):
        task.score(shift, points * 10)
