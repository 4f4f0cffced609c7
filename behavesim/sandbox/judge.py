"""The judge: the sandbox runs a program, and trusted code alone says what its solutions are worth."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from behavesim.errors import TaskError
from behavesim.protocols import Failure, Sandbox, Solved, Verdict
from behavesim.sandbox.frames import printable
from behavesim.task import Solution, Split, Task
from behavesim.trajectory import Trajectory

PROVOKED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""What rubbish can provoke in a task's code: the program chose the data, so it is its failure and not the run's.
InvalidSolution is a ValueError; anything else (an AssertionError, an OSError) is the task's fault and stops the run."""


class Judge:
    """Scores what programs return, for the instances of one split, in this process and off the event loop."""

    def __init__(self, task: Task, split: Split, sandbox: Sandbox) -> None:
        self._task = task
        self._instances = task.instances(split)
        self._sandbox = sandbox

    async def evaluate(self, source: str) -> Verdict | Failure:
        """The verdict on a program, or why there is none.

        Raises SandboxError if the sandbox itself fails, TaskError if the task gives no trajectory.
        """
        solved = await self._sandbox.evaluate(source)
        if isinstance(solved, Failure):
            return solved
        return await asyncio.to_thread(self._score, solved)

    def _score(self, solved: Solved) -> Verdict | Failure:
        pairs = list(zip(self._instances, solved.solutions, strict=True))
        try:
            with np.errstate(all="ignore"):
                scores = tuple(self._number(instance, solution) for instance, solution in pairs)
                mean = float(self._task.mean_score(scores))
                if not all(math.isfinite(score) for score in (*scores, mean)):
                    return Failure("non-finite", f"the scores are {scores[:5]}", solved.cpu_s)
                found = [self._task.trajectory(instance, solution) for instance, solution in pairs]
        except PROVOKED as error:
            return Failure("invalid-solution", printable(str(error) or type(error).__name__), solved.cpu_s)
        return Verdict(mean, scores, trajectories_only(self._task, found), solved.cpu_s)

    def _number(self, instance: Any, solution: Solution) -> float:
        return float(self._task.score(instance, solution))


def trajectories_only(task: Task, found: Sequence[Trajectory]) -> tuple[Trajectory, ...]:
    """What a task gave as trajectories; raises TaskError where one of them is none."""
    strange = [type(each).__name__ for each in found if not isinstance(each, Trajectory)]
    if strange:
        raise TaskError(
            f"`trajectory` of task {task.name!r} must return a behavesim.Trajectory, such as "
            f"Trajectory.prefixes(decisions), not {strange[0]}"
        )
    return tuple(found)
