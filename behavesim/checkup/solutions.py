"""Checks what a task's trusted code returns for the template's solutions and for forged ones."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from behavesim.base.errors import TaskError, TrajectoryError
from behavesim.base.finding import PROVOKED, Finding
from behavesim.base.text import duration
from behavesim.checkup.forgeries import forgeries, halves
from behavesim.sandbox import Limits
from behavesim.sandbox.judge import checked_trajectories
from behavesim.sandbox.processes import seconds_without_a_core
from behavesim.state.protocols import Solved
from behavesim.state.verdict import Failure
from behavesim.task import Solution, Task, instances_of, number_from, raised
from behavesim.trajectory import AlgorithmRun, Trajectory, trajectories_of

SLOW_SCORE_S = 0.05
"""Longest time for scoring all instances without a warning (s): scoring runs beside the search and delays it."""

FEWEST_UNITS, MOST_UNITS = 0.1, 1000.0
"""Range of the template's score / `score_scale`. Outside it the softmax over clusters is flat or picks the best."""


def examined(
    task: Task,
    first: Solved,
    second: Solved | Failure,
    seconds: float,
    limits: Limits,
) -> Iterator[Finding]:
    """Yield the findings on two runs of the template, `first` and `second`; the second took `seconds` by the clock.

    Raises TaskError if the task's trusted code fails on their solutions or on forged ones.
    """
    scores, trajectories = _judged(task, first.solutions)
    score = number_from(task, "mean_score", _called(task, "mean_score", scores))
    yield _template(task, score, first.cpu_s, seconds, limits)
    yield _deterministic(task, first, second, scores, trajectories)
    yield _direction(task, score)
    yield _score_scale(task, score)
    yield _trusted(task, first.solutions, scores)
    yield _whole(task, first.solutions, scores)
    yield _scoring_time(task, first.solutions)
    yield from _trajectories(task, trajectories)


def _judged(task: Task, solutions: Sequence[Solution]) -> tuple[tuple[float, ...], tuple[AlgorithmRun, ...]]:
    """Return the scores and the trajectories of honest solutions, one for each search instance.

    Raises TaskError if the task's own code fails, a score is not finite, or a trajectory cannot be compared.
    """
    pairs = list(zip(instances_of(task, "search"), solutions, strict=True))
    scores = tuple(number_from(task, "score", _called(task, "score", *pair)) for pair in pairs)
    found = [_called(task, "trajectory", *pair) for pair in pairs]
    for number, score in enumerate(scores):
        if not math.isfinite(score):
            raise TaskError(f"the template's score on instance {number} is {score}; a score must be finite")
    return scores, checked_trajectories(task, found)


def _called(task: Task, method: str, *arguments: Any) -> Any:
    """Return what a method of the task returns; raises TaskError with the line in its file if it fails."""
    try:
        return getattr(task, method)(*arguments)
    except Exception as error:
        raise raised(task, method, error) from error


def _template(task: Task, score: float, cpu_s: float, seconds: float, limits: Limits) -> Finding:
    long = duration(task.budget * seconds)
    message = f"score {score:.6g} in {seconds:.3f} s; {task.budget} such programs take {long} on one worker"
    # models often write programs that are several times slower than the template
    if cpu_s > limits.timeout_s / 5:
        return Finding("template", "warning", f"{message}; that is near the limit of {limits.timeout_s:g} s")
    return Finding("template", "ok", message)


def _deterministic(
    task: Task,
    first: Solved,
    second: Solved | Failure,
    scores: Sequence[float],
    trajectories: Sequence[AlgorithmRun],
) -> Finding:
    if (scores, trajectories) != _judged(task, first.solutions):
        return Finding("determinism", "mend", "`score` or `trajectory` returns something else for the same solution")
    if isinstance(second, Failure) or (scores, trajectories) != _judged(task, second.solutions):
        return Finding(
            "determinism", "mend", "the template gives other results on a second run; seed what `solve` draws"
        )
    return Finding("determinism", "ok", "the template scores and behaves the same twice")


def _direction(task: Task, score: float) -> Finding:
    objective = task.objective
    gap = objective.gap(score)
    if gap is None:
        why = (
            "best_known is not given"
            if objective.best_known is None
            else "best_known is 0, and a gap would divide by it"
        )
        return Finding("direction", "ok", f"{objective.direction}; {why}, so gaps will be unknown")
    if gap < 0:
        return Finding(
            "direction",
            "mend",
            f"the template is better than best_known={objective.best_known:g}: the direction or that value is wrong",
        )
    return Finding("direction", "ok", f"{objective.direction}, the template is {100 * gap:.2f} % from the best known")


def _score_scale(task: Task, score: float) -> Finding:
    """Return a finding on whether `score_scale` fits the template's score, of which differences are a fraction."""
    units = abs(score) / task.score_scale
    # a template that scores 0 says nothing about the scale
    if units == 0 or FEWEST_UNITS <= units <= MOST_UNITS:
        return Finding("score scale", "ok", f"{task.score_scale:g}")
    effect = "as if all were alike" if units < FEWEST_UNITS else "the best alone, whatever else was found"
    advice = f"try score_scale = {abs(score) / 10:.1g}"
    message = f"{task.score_scale:g} beside scores of about {score:.6g}: parents are drawn {effect}; {advice}"
    return Finding("score scale", "warning", message)


def _trusted(task: Task, solutions: Sequence[Solution], scores: Sequence[float]) -> Finding:
    """Return a finding on whether `score` refuses forged solutions, or scores them no better than the template's."""
    suspect = None
    for instance, solution, honest in zip(instances_of(task, "search"), solutions, scores, strict=True):
        for forgery in forgeries(solution):
            score = _tried(task, instance, forgery.solution)
            if score is None or task.objective.utility(score) <= task.objective.utility(honest):
                continue
            message = f"a solution with {forgery.what} scores {score:.6g}, better than the template's {honest:.6g}"
            if forgery.absurd:
                advice = "refuse it with InvalidSolution, unless the direction is wrong"
                return Finding("trusted scoring", "mend", f"{message}; {advice}")
            suspect = suspect or f"{message}; if it breaks a rule, refuse it with InvalidSolution"
    if suspect:
        return Finding("trusted scoring", "warning", suspect)
    return Finding("trusted scoring", "ok", "none of the forged solutions tried scores better than the template")


def _whole(task: Task, solutions: Sequence[Solution], scores: Sequence[float]) -> Finding:
    """Return a finding on whether `score` refuses half a solution, or scores it worse than the whole."""
    accepted: dict[str, list[str]] = {}
    for number, (instance, solution, honest) in enumerate(
        zip(instances_of(task, "search"), solutions, scores, strict=True), 1
    ):
        for half in halves(solution):
            score = _tried(task, instance, half.solution)
            if score is not None and task.objective.utility(score) >= task.objective.utility(honest):
                said = f"a solution with {half.what} scores {score:.6g} on instance {number}, the whole {honest:.6g}"
                accepted.setdefault(half.what, []).append(said)
    if not accepted:
        return Finding("whole solutions", "ok", "half a solution is refused, or scores worse than the whole")
    # a half that every instance accepts is a hole in `score`; one that some accept may be luck
    most = max(accepted.values(), key=len)
    advice = "count the parts in `score`, and refuse with InvalidSolution where some are missing"
    return Finding("whole solutions", "mend" if len(most) == len(solutions) else "warning", f"{most[0]}; {advice}")


def _tried(task: Task, instance: Any, solution: Solution) -> float | None:
    """Return the score of a forged solution; None if it is refused, not finite, or raises an error in PROVOKED.

    Raises TaskError if `score` raises anything else.
    """
    try:
        with np.errstate(all="ignore"):
            score = float(task.score(instance, solution))
    except PROVOKED:
        return None
    except Exception as error:
        raise TaskError(
            f"`score` raised {type(error).__name__} on a forged solution; InvalidSolution refuses one"
        ) from error
    return score if math.isfinite(score) else None


def _scoring_time(task: Task, solutions: Sequence[Solution]) -> Finding:
    cpu_s, waited, began = time.thread_time(), seconds_without_a_core(os.getpid()), time.perf_counter()
    _judged(task, solutions)
    seconds = time.perf_counter() - began
    # The waiting time is read outside the clock's two readings, so that all of it is left out. That can be too much,
    # so the time is at least the CPU time.
    seconds = max(seconds - seconds_without_a_core(os.getpid()) + waited, time.thread_time() - cpu_s)
    message = f"{1000 * seconds:.1f} ms for scoring all instances"
    if seconds > SLOW_SCORE_S:
        return Finding("scoring time", "warning", f"{message}; it runs in the trusted process, let `solve` do the work")
    return Finding("scoring time", "ok", message)


def _trajectories(task: Task, trajectories: Sequence[AlgorithmRun]) -> Iterator[Finding]:
    lengths = [len(trajectory) for trajectory in trajectories]
    if max(lengths) < 2:
        yield Finding("trajectory", "warning", "one state only: behaviour is then no more than the result")
    else:
        yield Finding("trajectory", "ok", f"{trajectories[0].kind}, {min(lengths)} to {max(lengths)} states")
    yield _normaliser(task, trajectories)


def _first_state(trajectory: Trajectory) -> Trajectory:
    """Return a trajectory of only the first state; comparing it with the whole compares it with every state."""
    state = trajectory.state(0)
    return (
        Trajectory.prefixes(state) if trajectory.kind == "prefixes" else getattr(Trajectory, trajectory.kind)([state])
    )


def _normaliser(task: Task, trajectories: Sequence[AlgorithmRun]) -> Finding:
    """Return a finding on whether the normaliser is at least the largest distance from a first state to another."""
    from behavesim.similarity import BehaveSim

    measure = BehaveSim(task.normaliser)
    try:
        for trajectory in chain.from_iterable(map(trajectories_of, trajectories)):
            measure.similarity(_first_state(trajectory), trajectory)
    except TrajectoryError as error:
        return Finding("normaliser", "mend", str(error))
    if task.normaliser == "pair":
        advice = "name the greatest distance that two solutions can have"
        return Finding(
            "normaliser",
            "warning",
            f"each distance is divided by the longer of the two states, which changes values a lot; {advice}",
        )
    return Finding("normaliser", "ok", f"{task.normaliser}")
