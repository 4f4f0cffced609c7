"""The judge: the sandbox runs a program, and only trusted code, in this process, scores its solutions."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from behavesim.base.errors import TaskError
from behavesim.sandbox.frames import as_message
from behavesim.sandbox.stateless import AnsweredCall, calls_to_repeat
from behavesim.state.protocols import Postponed, Sandbox, Solved, unnoticed
from behavesim.task import InvalidSolution, Split, Task, called, instances_of, number_from
from behavesim.task.score import Metrics, Score, bounded_metrics, joined_feedback, mean_metrics
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, trajectories_of

MOST_STATES = 5000
"""Most states of one trajectory; a program with more is rejected.

Comparing two takes time and memory in proportion to the product of their lengths.
"""
MOST_NUMBERS = 1 << 20
"""Most numbers in all trajectories of a program together: they take up to 8 MB in the journal."""
MACHINES_REASONS = ("timeout", "memory")
"""Failures of a repeated call that do not show that a program keeps state: the machine may be the cause."""
_REPEATED = "calls were made again in a fresh process, with as much time as all calls had together"
"""The beginning of the message for a program whose repeated calls exceed a limit."""
LARGEST_COORDINATE = 1e100
"""Largest absolute value of a coordinate in a trajectory of vectors; a program with a larger one is rejected.

Within it, sums of squared differences stay finite."""


class SandboxJudge:
    """Evaluates programs on the instances of one split: `sandbox` runs them, this process scores what they return."""

    def __init__(self, task: Task, split: Split, sandbox: Sandbox) -> None:
        self._task = task
        self._instances = instances_of(task, split)
        self._sandbox = sandbox

    @property
    def isolation(self) -> str:
        """The isolation level of the sandbox: "strong+", "strong", "partial" or "process", strongest first.

        Raises SandboxError if the sandbox is a Pool that was not entered.
        """
        return self._sandbox.isolation

    async def evaluate(self, source: str, postponed: Postponed = unnoticed, /) -> Verdict | Failure:
        """Return a program's scores and trajectories, or its failure.

        If the task's code raises while it scores, the program fails as `invalid-solution`: the same code scored the
        template's solutions. `postponed` is called each time that the program must run again because the machine may be
        the cause of its ending. Raises SandboxError if that is still in doubt after the last try, or if the sandbox
        itself fails. Raises TaskError if the sandbox has another number of instances than this process, or if a
        stateless task's call cannot be sent to be repeated.
        """
        solved = await self._sandbox.evaluate(source, postponed)
        if isinstance(solved, Failure):
            return solved
        if len(solved.solutions) != len(self._instances):
            raise TaskError(f"`instances` of task {self._task.name!r} must give the same on every call")
        if self._task.stateless:
            return await self._score_stateless(source, solved, postponed)
        return await asyncio.to_thread(verdict_on, self._task, self._instances, solved)

    async def _score_stateless(self, source: str, solved: Solved, postponed: Postponed) -> Verdict | Failure:
        """Return the verdict on a program of a stateless task: some of its calls are repeated in fresh processes.

        It fails as `timeout` or `memory` if a repeated call does, and as `keeps-state` if one fails in another way or
        is answered differently. It fails as `invalid-solution` if its answers do not lead to its solutions. The CPU
        time includes the repeated calls. Raises SandboxError if the sandbox itself fails, TaskError if a call's
        arguments cannot be sent.
        """
        verdict = await asyncio.to_thread(verdict_on, self._task, self._instances, solved)
        if isinstance(verdict, Failure):
            return verdict
        try:
            calls = await asyncio.to_thread(self._calls_to_repeat, solved)
        except (InvalidSolution, TaskError) as error:
            return Failure("invalid-solution", as_message(str(error)), solved.cpu_s)
        cpu_s = solved.cpu_s
        for together in calls:
            again = await self._sandbox.answers(source, [call.arguments for call in together], postponed)
            cpu_s += again.cpu_s
            if isinstance(again, Failure):
                return replace(_failed_again(again), cpu_s=cpu_s)
            for call, answer in zip(together, again.solutions, strict=True):
                if words := call.difference(answer):
                    return replace(_keeps_state(words), cpu_s=cpu_s)
        return replace(verdict, cpu_s=cpu_s)

    def _calls_to_repeat(self, solved: Solved) -> list[list[AnsweredCall]]:
        """Return some calls that the program has answered, to be repeated; each list of them is for one process.

        Raises InvalidSolution if its answers are missing or do not lead to its solutions, TaskError if `solve` fails.
        """
        draw = np.random.default_rng()  # not from a seed: a program must not know which calls are repeated
        given = (self._task, self._instances, solved.solutions, solved.answers, draw)
        # all of it is called as the task's code: what `solve` returns for forged answers can be anything
        return called(self._task, "solve", calls_to_repeat, *given)


def verdict_on(task: Task, instances: Sequence[Any], solved: Solved) -> Verdict | Failure:
    """Return the verdict on a program's solutions, one for each of the instances, or the failure found in them.

    The failure is `non-finite` if a score is infinite or not a number. It is `invalid-solution` if the task refuses a
    solution, or if a trajectory cannot be compared. It is the same if the task's code raises anything else or returns
    no score; the message then names the method.
    """
    pairs = list(zip(instances, solved.solutions, strict=True))
    try:
        found_scores = [called(task, "score", task.score, *pair) for pair in pairs]
        scores = tuple(number_from(task, "score", each) for each in found_scores)
        mean = number_from(task, "mean_score", called(task, "mean_score", task.mean_score, scores))
        if not all(math.isfinite(score) for score in (*scores, mean)):
            return Failure("non-finite", f"a score must be finite; the scores are {scores[:5]}", solved.cpu_s)
        found = [called(task, "trajectory", task.trajectory, *pair) for pair in pairs]
        trajectories, extras = checked_trajectories(task, found), _extras(task, found_scores)
        return Verdict(mean, scores, trajectories, solved.cpu_s, *extras, solved.counted_s)
    except (InvalidSolution, TaskError) as error:
        return Failure("invalid-solution", as_message(str(error) or "the task says no more"), solved.cpu_s)


def _extras(task: Task, found: Sequence[object]) -> tuple[Metrics, str]:
    """Return the mean metrics and the joined feedback of a program from what `score` returned on each instance.

    Both are empty if it returned no Score. Raises TaskError if metrics do not map names to numbers, or feedback is not
    text.
    """
    if not any(isinstance(each, Score) for each in found):
        return {}, ""
    told = [each if isinstance(each, Score) else Score(0.0) for each in found]
    # a metric may be of a class whose conversion to a number raises anything
    metrics = called(task, "score", lambda: [bounded_metrics(dict(each.metrics)) for each in told])
    if strange := [type(each.feedback).__name__ for each in told if not isinstance(each.feedback, str)]:
        raise TaskError(f"the feedback of `score` of task {task.name!r} must be text, not {strange[0]}")
    return mean_metrics(metrics), joined_feedback([each.feedback for each in told])


def _failed_again(again: Failure) -> Failure:
    """Return the failure of a program one of whose repeated calls failed with `again`.

    It has the same reason if that is one of MACHINES_REASONS, else `keeps-state`.
    """
    if again.reason in MACHINES_REASONS:
        return replace(again, message=as_message(f"{_REPEATED}: {again.message}"))
    return _keeps_state(f"it fails: {again.message}")


def _keeps_state(words: str) -> Failure:
    """Return the failure of a program that keeps state between calls; `words` say what a repeated call showed."""
    rule = "a program must keep nothing between calls; asked again in a fresh process"
    return Failure("keeps-state", as_message(f"{rule}, {words}"))


def checked_trajectories(task: Task, found: Sequence[AlgorithmRun]) -> tuple[AlgorithmRun, ...]:
    """Return `found`, what a task's `trajectory` returned for each instance, as a tuple if it can be compared.

    Raises TaskError if one is neither a Trajectory nor Samples, or has more than MOST_STATES states or a coordinate
    beyond LARGEST_COORDINATE. Raises TaskError, too, if all together have more than MOST_NUMBERS numbers.
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
