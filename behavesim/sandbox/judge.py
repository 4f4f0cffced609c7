"""The judge: the sandbox runs a program, and only trusted code, in this process, scores its solutions."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

import numpy as np

from behavesim.base.errors import TaskError
from behavesim.sandbox.frames import as_message
from behavesim.sandbox.stateless import AnsweredCall, calls_to_repeat
from behavesim.state.protocols import Sandbox, Solved
from behavesim.state.verdict import Failure, Verdict
from behavesim.task import InvalidSolution, Split, Task, as_arrays, instances_of, number_from, raised
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, trajectories_of

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE_S, AT_ONCE_BYTES = 0.002, 1 << 16
"""Solutions are scored on the event loop if the last ones took less CPU time (s) and these have fewer bytes.

For so little work, waking a thread costs more than the scoring.
"""
MOST_STATES = 5000
"""Most states of a trajectory: comparing two takes time and memory in proportion to the product of their lengths."""
MOST_NUMBERS = 1 << 20
"""Most numbers in all trajectories of a program: they take up to 8 MB in the journal."""
MACHINES_REASONS = ("timeout", "memory")
"""Failures of a repeated call that do not show that a program keeps state: the machine may be the cause."""
LARGEST_COORDINATE = 1e100
"""Largest absolute coordinate of a vector: sums of squared differences stay finite."""


class SandboxJudge:
    """Evaluates programs on the instances of one split: `sandbox` runs them, this process scores what they return."""

    def __init__(self, task: Task, split: Split, sandbox: Sandbox) -> None:
        self._task = task
        self._instances = instances_of(task, split)
        self._sandbox = sandbox
        self._took_s = math.inf  # CPU seconds of the last scoring

    @property
    def isolation(self) -> str:
        """The isolation level of the sandbox: "strong+", "strong", "partial" or "process"."""
        return self._sandbox.isolation

    async def evaluate(self, source: str) -> Verdict | Failure:
        """Return a program's scores and trajectories, or its failure.

        If the task's code raises while it scores, the program fails as `invalid-solution`: the same code scored the
        template's solutions. Raises SandboxError if the sandbox itself fails, TaskError if the sandbox has another
        number of instances than this process.
        """
        solved = await self._sandbox.evaluate(source)
        if isinstance(solved, Failure):
            return solved
        if len(solved.solutions) != len(self._instances):
            raise TaskError(f"`instances` of task {self._task.name!r} must give the same on every call")
        if self._task.stateless:
            return await self._score_stateless(source, solved)
        return await self._scored(solved)

    async def _score_stateless(self, source: str, solved: Solved) -> Verdict | Failure:
        """Return the verdict on a program of a stateless task; `keeps-state` if a repeated call is answered otherwise.

        The CPU time of the repeated calls is added to the verdict's. Raises SandboxError if the sandbox itself fails.
        """
        verdict = await self._scored(solved)
        if isinstance(verdict, Failure):
            return verdict
        try:
            calls = await asyncio.to_thread(self._calls_to_repeat, solved)
        except (InvalidSolution, TaskError) as error:
            return Failure("invalid-solution", as_message(str(error)), solved.cpu_s)
        cpu_s = solved.cpu_s
        for call in calls:
            again = await self._sandbox.answer(source, call.arguments)
            cpu_s += again.cpu_s
            if isinstance(again, Failure):
                is_machines = again.reason in MACHINES_REASONS
                return replace(again if is_machines else _kept(f"it fails: {again.message}"), cpu_s=cpu_s)
            if words := call.difference(again.solutions[0]):
                return replace(_kept(words), cpu_s=cpu_s)
        return replace(verdict, cpu_s=cpu_s)

    async def _scored(self, solved: Solved) -> Verdict | Failure:
        """Return the verdict on solutions, scored here if that is quick (see AT_ONCE_S) and in a thread otherwise."""
        size = sum(array.nbytes for solution in solved.solutions for array in as_arrays(solution).values())
        if self._took_s < AT_ONCE_S and size < AT_ONCE_BYTES:
            return self._timed(solved)
        return await asyncio.to_thread(self._timed, solved)

    def _timed(self, solved: Solved) -> Verdict | Failure:
        begun = time.thread_time()
        with np.errstate(all="ignore"):
            verdict = self._score(solved)
        self._took_s = time.thread_time() - begun
        return verdict

    def _calls_to_repeat(self, solved: Solved) -> list[AnsweredCall]:
        draw = np.random.default_rng()  # not from a seed: a program must not know which calls are repeated
        given = (self._task, self._instances, solved.solutions, solved.answers, draw)
        with np.errstate(all="ignore"):
            return self._called("solve", calls_to_repeat, *given)

    def _score(self, solved: Solved) -> Verdict | Failure:
        pairs = list(zip(self._instances, solved.solutions, strict=True))
        try:
            scores = tuple(self._number("score", *pair) for pair in pairs)
            mean = self._number("mean_score", scores)
            if not all(math.isfinite(score) for score in (*scores, mean)):
                return Failure("non-finite", f"the scores are {scores[:5]}", solved.cpu_s)
            found = [self._called("trajectory", self._task.trajectory, *pair) for pair in pairs]
            return Verdict(mean, scores, checked_trajectories(self._task, found), solved.cpu_s)
        except (InvalidSolution, TaskError) as error:
            return Failure("invalid-solution", as_message(str(error) or "the task says no more"), solved.cpu_s)

    def _number(self, name: str, *arguments: Any) -> float:
        return number_from(self._task, name, self._called(name, getattr(self._task, name), *arguments))

    def _called(self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a function of the task returns.

        Raises InvalidSolution if the function does, and TaskError with the function's name for any other exception.
        """
        try:
            return function(*args, **kwargs)
        except InvalidSolution:
            raise
        except (Exception, SystemExit) as error:
            raise raised(self._task, name, error) from error


def _kept(words: str) -> Failure:
    rule = "a program must keep nothing between calls; asked again in a fresh process"
    return Failure("keeps-state", as_message(f"{rule}, {words}"))


def checked_trajectories(task: Task, found: Sequence[AlgorithmRun]) -> tuple[AlgorithmRun, ...]:
    """Return what a task's `trajectory` returned, one for each instance, if it can be compared.

    Raises TaskError if one is no trajectory, has more than MOST_STATES states or a coordinate beyond
    LARGEST_COORDINATE, or if all have more than MOST_NUMBERS numbers.
    """
    must = f"`trajectory` of task {task.name!r} must"
    if strange := [type(each).__name__ for each in found if not isinstance(each, Trajectory | Samples)]:
        advice = f"return a behavesim.Trajectory, such as Trajectory.prefixes(decisions), not {strange[0]}"
        raise TaskError(f"{must} {advice}")
    runs = [run for each in found for run in trajectories_of(each)]
    if (longest := max(map(len, runs), default=0)) > MOST_STATES:
        raise TaskError(f"{must} give at most {MOST_STATES} states, got {longest}; keep every so many")
    if (numbers := sum(run.data.size for run in runs)) > MOST_NUMBERS:
        raise TaskError(f"{must} give at most {MOST_NUMBERS} numbers over all instances, got {numbers}")
    if any(run.kind == "vectors" and np.abs(run.data).max() > LARGEST_COORDINATE for run in runs):
        raise TaskError(f"{must} give coordinates within ±{LARGEST_COORDINATE:g}")
    return tuple(found)
