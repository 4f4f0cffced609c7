"""The judge scores what the sandbox returns, and no solution, however odd, does more than fail."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from behavesim.base.errors import TaskError
from behavesim.sandbox.referee import MOST_NUMBERS, MOST_STATES, verdict_on
from behavesim.task import Objective, Score, Task, TaskReference, instances_of
from behavesim.task.score import LONGEST_METRIC_NAME, MOST_FEEDBACK, MOST_METRICS
from behavesim.task.verdict import Failure, Sent, Solved, Verdict
from behavesim.trajectory import Trajectory
from tests.sandbox.fakes import Returns, judge_here

CITIES = TaskReference(str(Path(__file__).parent / "cities.py"))


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
    return await judge_here(task, Returns(solution)).evaluate("")


async def test_the_verdict_holds_scores_and_trajectories_of_each_instance() -> None:
    task = CITIES.load()
    tours = (np.arange(10), np.arange(10)[::-1])
    verdict = await judge_here(task, Returns(*tours)).evaluate("")
    assert isinstance(verdict, Verdict)
    expected = [task.score(*each) for each in zip(task.instances("search"), tours, strict=True)]
    assert list(verdict.scores) == expected
    assert verdict.score == pytest.approx(np.mean(expected))
    assert verdict.trajectories == tuple(Trajectory.prefixes(tour) for tour in tours)
    assert verdict.cpu_s == 0.25


async def test_a_failure_of_the_sandbox_is_handed_on() -> None:
    class Fails(Returns):
        async def send(self, source: str, *_: object) -> Sent | Failure:
            return Failure("timeout", "x", 1.0)

    assert await judge_here(CITIES.load(), Fails()).evaluate("") == Failure("timeout", "x", 1.0)


async def test_a_broken_rule_is_an_invalid_solution_in_the_tasks_words() -> None:
    verdict = await judge_here(CITIES.load(), Returns(np.zeros(10, int), np.zeros(10, int))).evaluate("")
    assert verdict == Failure("invalid-solution", "the tour must visit each point once", 0.25)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
async def test_a_score_that_is_not_finite_is_a_failure(value: float) -> None:
    verdict = await judged(Scored(lambda _: value))
    assert isinstance(verdict, Failure)
    assert verdict.reason == "non-finite"


class TwoScores(Scored):
    """Two instances, on which `score` returns the first and the second of what a test gives."""

    def instances(self, split: str) -> list[int]:
        return [0, 1]

    def score(self, instance: Any, solution: Any) -> Any:
        return self._score(instance)


async def told(*scores: Any) -> Verdict | Failure:
    return await judge_here(TwoScores(lambda instance: scores[instance]), Returns(1, 1)).evaluate("")


async def test_metrics_are_means_over_the_instances_and_feedback_names_its_instance() -> None:
    verdict = await told(Score(1, {"length": 2, "gain": 0.5}, "slow"), Score(np.float64(3), {"length": 5, "gain": 1.5}))
    assert isinstance(verdict, Verdict)
    assert (verdict.score, verdict.scores) == (2.0, (1.0, 3.0))
    assert verdict.metrics == {"length": 3.5, "gain": 1.0}
    assert verdict.feedback == "instance 1: slow"


async def test_a_metric_that_is_not_finite_or_not_everywhere_is_its_text() -> None:
    verdict = await told(Score(1, {"a": math.nan, "b": 1, "c": -math.inf, "d": 10**400}), 1.0)
    assert isinstance(verdict, Verdict)
    assert verdict.metrics == {"a": "nan", "b": "missing", "c": "-inf", "d": "inf"}
    verdict = await told(Score(1, {"huge": 1.5e308}), Score(1, {"huge": 1.5e308}))
    assert isinstance(verdict, Verdict)
    assert verdict.metrics == {"huge": 1.5e308}, "the sum is too large for a float, the mean is not"


async def test_a_number_in_place_of_a_score_leaves_metrics_and_feedback_empty() -> None:
    verdict = await told(1, 2.0)
    assert isinstance(verdict, Verdict)
    assert (verdict.metrics, verdict.feedback) == ({}, "")


async def test_metrics_and_feedback_are_bounded() -> None:
    many = {f"{number:0>200}": number for number in range(200, 1000)}
    verdict = await told(Score(1, many, "long " * 10_000), Score(1, many))
    assert isinstance(verdict, Verdict)
    assert len(verdict.metrics) == 1  # names are cut, and then equal
    assert max(map(len, verdict.metrics)) == LONGEST_METRIC_NAME
    assert len(verdict.feedback) == MOST_FEEDBACK
    verdict = await told(Score(1, {str(number): number for number in range(1000)}), 1)
    assert isinstance(verdict, Verdict)
    assert len(verdict.metrics) == MOST_METRICS


@pytest.mark.parametrize("metrics", [{"a": None}, {"a": []}, 5, "ab"])
async def test_metrics_that_are_no_numbers_by_name_reject_the_program_and_name_the_function(metrics: Any) -> None:
    verdict = await told(Score(1, metrics), 1)
    assert isinstance(verdict, Failure)
    assert verdict.reason == "invalid-solution"
    assert "`score`" in verdict.message


@pytest.mark.parametrize("value", [math.nan, math.inf])
async def test_a_value_that_is_not_finite_fails_whatever_its_metrics(value: float) -> None:
    verdict = await told(Score(value, {"good": 1}), 1)
    assert isinstance(verdict, Failure)
    assert verdict.reason == "non-finite"


class Mute(Exception):
    def __str__(self) -> str:
        raise KeyError("no words")


def raising(error: type[BaseException]) -> Callable[[Any], Any]:
    def function(_: object) -> float:
        raise error("as told")

    return function


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
        lambda _: next(iter([])),
        lambda _: "no number",
        lambda _: None,
        lambda _: 10**400,
        *map(raising, (AssertionError, OSError, RuntimeError, StopIteration, SystemExit, MemoryError, Mute)),
    ],
)
@pytest.mark.parametrize("where", ["score", "mean_score", "trajectory"])
async def test_whatever_a_solution_provokes_in_a_tasks_code_rejects_it_and_names_the_function(
    provoke: Callable[[Any], Any], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Scored(lambda _: 1.0)
    task.name = "careless"
    monkeypatch.setattr(task, where, lambda *arguments: provoke(arguments))
    verdict = await judged(task)
    assert isinstance(verdict, Failure)
    assert verdict.reason == ("costly-score" if "MemoryError" in verdict.message else "invalid-solution")
    assert f"`{where}` of task 'careless'" in verdict.message
    assert verdict.message.isprintable()


async def test_an_interruption_by_the_user_is_no_failure_of_a_program() -> None:
    with pytest.raises(KeyboardInterrupt):
        verdict_on(Scored(raising(KeyboardInterrupt)), [0], Solved((1,), 0.0))


async def test_a_score_is_taken_as_float_takes_it() -> None:
    verdict = await judged(Scored(lambda _: np.array(2, np.int8)))
    assert isinstance(verdict, Verdict)
    assert verdict.scores == (2.0,)
    assert type(verdict.scores[0]) is float


@pytest.mark.parametrize(
    ("trajectory", "said"),
    [
        (lambda _: Trajectory.prefixes([]), "TrajectoryError: a trajectory needs at least one state"),
        (lambda _: Trajectory.vectors([[np.nan]]), "vectors must be finite"),
        (lambda _: Trajectory("vectors", np.array([[np.inf]])), "vectors must be finite"),
        (lambda _: Trajectory("vectors", np.zeros((2, 2), np.float32)), "not stored as float32"),
        (lambda _: Trajectory("sequences", np.zeros(2, int), np.array([2, 1])), "end to end"),
        (lambda _: Trajectory.vectors([[1e101]]), "within ±1e\\+100"),
        (lambda _: Trajectory.prefixes(range(MOST_STATES + 1)), "at most 5000 states, got 5001"),
        (lambda _: Trajectory.vectors(np.zeros((2, MOST_NUMBERS // 2 + 1))), "at most 1048576 numbers"),
        (lambda _: [1, 2], "must return a behavesim.Trajectory"),
        (lambda _: None, "must return a behavesim.Trajectory"),
    ],
)
async def test_a_trajectory_that_nothing_could_be_compared_with_is_a_failure(
    trajectory: Callable[[Any], Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Scored(lambda _: 1.0)
    monkeypatch.setattr(task, "trajectory", lambda instance, solution: trajectory(solution))
    verdict = await judged(task)
    assert isinstance(verdict, Failure)
    assert verdict.reason == "invalid-solution"
    assert re.search(said, verdict.message)
    assert "`trajectory` of task" in verdict.message


async def test_a_trajectory_as_long_as_may_be_is_taken() -> None:
    verdict = await judged(Scored(lambda _: 1.0, trajectory=lambda _: range(MOST_STATES)))
    assert isinstance(verdict, Verdict)


async def test_instances_that_are_others_in_the_sandbox_are_the_tasks_fault() -> None:
    with pytest.raises(TaskError, match="must give the same on every call"):
        await judge_here(Scored(lambda _: 1.0), Returns(1, 2)).evaluate("")


@cache
def honest(name: str) -> tuple[Task, tuple[np.ndarray, ...]]:
    """A task of ours, and the solutions of its template."""
    task, scope = TaskReference(name).load(), dict[str, Any]()
    exec(task.template, scope)
    return task, tuple(np.asarray(task.solve(scope[task.entry_point], each)) for each in task.instances("search"))


DTYPES = [np.bool_, np.int8, np.uint8, np.uint64, np.float16, np.float64]
EXTREMES = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.0**63, -1, 0]
SHAPES: list[Callable[[np.ndarray], Any]] = [
    *(lambda a: a[:0], lambda a: a[:1], lambda a: a[0], lambda a: a[::-1], lambda a: a[None], lambda a: a[..., None]),
    *(lambda a: np.concatenate([a, a]), lambda a: {"": a, "b": a}, lambda a: {"a": a}, lambda a: {}),
    *(lambda a: np.zeros((0, *a.shape)), lambda a: np.zeros((*a.shape, 0)), lambda a: np.zeros((len(a), 1 << 10))),
]


@pytest.mark.parametrize("name", ["tsp", "asp", "cpp", "bin_packing"])
@given(data=st.data())
@settings(max_examples=40)
def test_our_own_tasks_refuse_by_their_rules_whatever_is_done_to_a_solution(name: str, data: st.DataObject) -> None:
    task, solutions = honest(name)
    damaged = solutions[0]
    if (dtype := data.draw(st.none() | st.sampled_from(DTYPES))) is not None:
        with np.errstate(all="ignore"):
            damaged = damaged.astype(dtype)
    for place in data.draw(st.lists(st.integers(0, damaged.size - 1), max_size=3)):
        extreme = data.draw(st.sampled_from(EXTREMES)) if damaged.dtype.kind == "f" else data.draw(st.integers(-3, 127))
        with np.errstate(all="ignore"):
            damaged = damaged.copy()
            damaged.flat[place] = np.array(extreme).astype(damaged.dtype)
    if (reshaped := data.draw(st.none() | st.sampled_from(SHAPES))) is not None:
        damaged = reshaped(damaged)
    verdict = verdict_on(task, instances_of(task, "search"), Solved((damaged, *solutions[1:]), 0.0))
    assert isinstance(verdict, Verdict) or verdict.reason in ("invalid-solution", "non-finite")
    assert isinstance(verdict, Verdict) or "raised" not in verdict.message
