"""The judge scores what the sandbox returns, and no solution, however odd, does more than fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from behavesim.protocols import Failure, Solved, Verdict
from behavesim.sandbox import Judge
from behavesim.task import Objective, Task, TaskReference
from behavesim.trajectory import Trajectory

CITIES = TaskReference(str(Path(__file__).parent / "cities.py"))


class Returns:
    """A sandbox in which every program returns the same."""

    isolation = "strong"

    def __init__(self, *solutions: Any) -> None:
        self._solutions = solutions

    async def evaluate(self, source: str) -> Solved | Failure:
        return Solved(self._solutions, cpu_s=0.25)


class Scored(Task):
    """One instance, scored by whatever function a test gives."""

    template = "def f(x): return x"
    objective = Objective("maximise")

    def __init__(self, score: Callable[[Any], Any], trajectory: Callable[[Any], Any] = lambda _: [0]) -> None:
        self._score, self._trajectory = score, trajectory

    def instances(self, split: str) -> list[int]:
        return [1]

    def solve(self, function: Any, instance: Any) -> Any:
        return function(instance)

    def score(self, instance: Any, solution: Any) -> Any:
        return self._score(solution)

    def trajectory(self, instance: Any, solution: Any) -> Trajectory:
        return Trajectory.prefixes(self._trajectory(solution))


async def judged(task: Task, solution: object = 1) -> Verdict | Failure:
    return await Judge(task, "search", Returns(solution)).evaluate("")


async def test_the_verdict_holds_scores_and_trajectories_of_each_instance() -> None:
    task = CITIES.load()
    tours = (np.arange(10), np.arange(10)[::-1])
    verdict = await Judge(task, "search", Returns(*tours)).evaluate("")
    assert isinstance(verdict, Verdict)
    expected = [task.score(*each) for each in zip(task.instances("search"), tours, strict=True)]
    assert list(verdict.scores) == expected
    assert verdict.score == pytest.approx(np.mean(expected))
    assert verdict.trajectories == tuple(Trajectory.prefixes(tour) for tour in tours)
    assert verdict.cpu_s == 0.25


async def test_a_failure_of_the_sandbox_is_handed_on() -> None:
    class Fails(Returns):
        async def evaluate(self, source: str) -> Solved | Failure:
            return Failure("timeout", "x", 1.0)

    assert await Judge(CITIES.load(), "search", Fails()).evaluate("") == Failure("timeout", "x", 1.0)


async def test_a_broken_rule_is_an_invalid_solution_in_the_tasks_words() -> None:
    verdict = await Judge(CITIES.load(), "search", Returns(np.zeros(10, int), np.zeros(10, int))).evaluate("")
    assert verdict == Failure("invalid-solution", "the tour must visit each point once", 0.25)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
async def test_a_score_that_is_not_finite_is_a_failure(value: float) -> None:
    verdict = await judged(Scored(lambda _: value))
    assert isinstance(verdict, Failure)
    assert verdict.reason == "non-finite"


@pytest.mark.parametrize(
    "provoke",
    [
        lambda _: [][1],
        lambda _: {}["x"],
        lambda _: None.x,
        lambda _: int("x"),
        lambda _: 1 + "x",
        lambda _: 1 // 0,
        lambda _: 10.0**1000,
        lambda _: np.zeros(3) + np.zeros(4),
        lambda _: np.zeros(1 << 60),
        lambda _: "no number",
    ],
)
async def test_whatever_rubbish_provokes_in_a_tasks_code_is_the_programs_failure(provoke: Callable[[Any], Any]) -> None:
    for task in (Scored(provoke), Scored(lambda _: 1.0, trajectory=provoke)):
        verdict = await judged(task)
        assert isinstance(verdict, Failure)
        assert verdict.reason == "invalid-solution"
        assert verdict.message


async def test_a_fault_that_no_solution_provokes_is_the_tasks_own_and_is_raised() -> None:
    def faulty(_: object) -> float:
        raise AssertionError("the task is wrong")

    with pytest.raises(AssertionError, match="the task is wrong"):
        await judged(Scored(faulty))


async def test_scoring_does_not_hold_up_the_event_loop() -> None:
    scoring = asyncio.create_task(judged(Scored(lambda _: time.sleep(0.2) or 1.0)))
    beats = 0
    while not scoring.done():
        await asyncio.sleep(0.01)
        beats += 1
    assert beats > 2
