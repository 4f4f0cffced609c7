"""The judge: the sandbox runs a program, and trusted code alone says what its solutions are worth."""

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
from behavesim.sandbox.stateless import Call, calls_to_repeat
from behavesim.state.protocols import Sandbox, Solved
from behavesim.state.verdict import Failure, Verdict
from behavesim.task import InvalidSolution, Split, Task, as_arrays, instances_of, number_from, raised
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, trajectories_of

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE_S, AT_ONCE_BYTES = 0.002, 1 << 16
"""How long the last solutions took to be scored, and how large others may be, that are scored on the event loop: a
thread that is woken for less costs more than it takes."""
MOST_STATES = 5000
"""States of a trajectory: to compare two takes time, and may take memory, in proportion to the product."""
MOST_NUMBERS = 1 << 20
"""Numbers in all trajectories of a program: up to 8 MB in the journal."""
PACE = ("timeout", "memory")
"""Reasons that say nothing about what a program keeps: the machine may have been the cause."""
FURTHEST = 1e100
"""Coordinates of a vector, in either direction: the squares of their differences can still be added up."""


class SandboxJudge:
    """Scores what programs return, for the instances of one split, in this process; what takes long, off the loop."""

    def __init__(self, task: Task, split: Split, sandbox: Sandbox) -> None:
        self._task = task
        self._instances = instances_of(task, split)
        self._sandbox = sandbox
        self._took_s = math.inf

    @property
    def isolation(self) -> str:
        """How closed its sandbox is: strong+, strong, partial or process."""
        return self._sandbox.isolation

    async def evaluate(self, source: str) -> Verdict | Failure:
        """The verdict on a program, or why there is none; whatever the task's code raises is the solutions' doing.

        Raises SandboxError if the sandbox itself fails, TaskError if the task's instances are others there than here.
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
        """The verdict on a program that answers the same where nothing was asked before; a failure of any other."""
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
                return replace(again if again.reason in PACE else _kept(f"it fails: {again.message}"), cpu_s=cpu_s)
            if words := call.difference(again.solutions[0]):
                return replace(_kept(words), cpu_s=cpu_s)
        return replace(verdict, cpu_s=cpu_s)

    async def _scored(self, solved: Solved) -> Verdict | Failure:
        """The verdict on some solutions: at once where they are small and the last took no time, else in a thread."""
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

    def _calls_to_repeat(self, solved: Solved) -> list[Call]:
        draw = np.random.default_rng()  # by the system's randomness, or a program could know what will be asked
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
            return Verdict(mean, scores, usable(self._task, found), solved.cpu_s)
        except (InvalidSolution, TaskError) as error:
            return Failure("invalid-solution", as_message(str(error) or "the task says no more"), solved.cpu_s)

    def _number(self, name: str, *arguments: Any) -> float:
        return number_from(self._task, name, self._called(name, getattr(self._task, name), *arguments))

    def _called(self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What a function of the task returns; raises TaskError, which names it, for whatever it raises but a refusal.

        The template's solutions went through the same code, so the program's are what it could not take.
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


def usable(task: Task, found: Sequence[AlgorithmRun]) -> tuple[AlgorithmRun, ...]:
    """What a task gave as trajectories; raises TaskError where one is none, or they are too much to be compared."""
    must = f"`trajectory` of task {task.name!r} must"
    if strange := [type(each).__name__ for each in found if not isinstance(each, Trajectory | Samples)]:
        advice = f"return a behavesim.Trajectory, such as Trajectory.prefixes(decisions), not {strange[0]}"
        raise TaskError(f"{must} {advice}")
    runs = [run for each in found for run in trajectories_of(each)]
    if (longest := max(map(len, runs), default=0)) > MOST_STATES:
        raise TaskError(f"{must} give at most {MOST_STATES} states, got {longest}; keep every so many")
    if (numbers := sum(run.data.size for run in runs)) > MOST_NUMBERS:
        raise TaskError(f"{must} give at most {MOST_NUMBERS} numbers over all instances, got {numbers}")
    if any(run.kind == "vectors" and np.abs(run.data).max() > FURTHEST for run in runs):
        raise TaskError(f"{must} give coordinates within ±{FURTHEST:g}")
    return tuple(found)
