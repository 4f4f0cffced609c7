"""The examination of a task before any money is spent on it: what works, and what to mend."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from behavesim.errors import TrajectoryError
from behavesim.protocols import Failure, Verdict
from behavesim.provenance import instances_hash
from behavesim.sandbox import Judge, Limits, Pool
from behavesim.sandbox.judge import PROVOKED
from behavesim.task import SPLITS, Split, Task, TaskReference, as_arrays

Result = Literal["ok", "warning", "mend"]

SLOW_SCORE_S = 0.05
"""Scoring runs in the trusted process; beyond this it holds up a search."""


@dataclass(frozen=True)
class Finding:
    """One thing that was examined, and in a line what was found or what to mend."""

    name: str
    result: Result
    message: str


async def checkup(reference: TaskReference, task: Task, limits: Limits) -> list[Finding]:
    """Examine a task's instances, template, scoring, trajectories and isolation, in that order.

    Where the template cannot be evaluated, what depends on it is left out.
    """
    findings = [_instances(task, split) for split in SPLITS]
    if findings[0].result == "mend":
        return findings
    pristine = instances_hash(task, "search")
    async with Pool(reference, "search", 1, limits, allow_weak_isolation=True) as pool:
        judge = Judge(task, "search", pool)
        began = time.perf_counter()
        first, second = await judge.evaluate(task.template), await judge.evaluate(task.template)
        seconds = (time.perf_counter() - began) / 2
        solved = await pool.evaluate(task.template)
        isolation = _isolation(pool.isolation)
    if isinstance(first, Failure):
        return [*findings, Finding("template", "mend", f"it fails ({first.reason}): {first.message}"), isolation]
    findings += [_template(task, first, seconds, limits), _deterministic(first, second), _direction(task, first)]
    if not isinstance(solved, Failure):
        findings.append(_trusted(task, solved.solutions, first))
        findings.append(_scoring_time(task, solved.solutions))
    findings.append(_unchanged(pristine, instances_hash(task, "search")))
    return [*findings, *_trajectories(task, first), isolation]


def _instances(task: Task, split: Split) -> Finding:
    name = f"{split} instances"
    try:
        first, second = list(task.instances(split)), list(task.instances(split))
    except PROVOKED as error:
        return Finding(name, "mend", f"instances({split!r}) raised {type(error).__name__}: {error}")
    if not first:
        return Finding(name, "mend" if split == "search" else "warning", f"instances({split!r}) gives none")
    if pickle.dumps(first) != pickle.dumps(second):
        return Finding(name, "mend", "two calls give different instances; draw them from a fixed seed")
    return Finding(name, "ok", f"{len(first)}, the same on every call")


def _template(task: Task, verdict: Verdict, seconds: float, limits: Limits) -> Finding:
    hours = task.budget * seconds / 3600
    message = (
        f"score {verdict.score:.6g} in {seconds:.3f} s; {task.budget} such programs take {hours:.2f} h on one worker"
    )
    if verdict.cpu_s > limits.timeout_s / 5:
        return Finding("template", "warning", f"{message}; that is near the limit of {limits.timeout_s:g} s")
    return Finding("template", "ok", message)


def _deterministic(first: Verdict, second: Verdict | Failure) -> Finding:
    same = isinstance(second, Verdict) and (first.scores, first.trajectories) == (second.scores, second.trajectories)
    if same:
        return Finding("determinism", "ok", "the template scores and behaves the same twice")
    return Finding("determinism", "mend", "the template gives other results on a second run; seed what `solve` draws")


def _direction(task: Task, verdict: Verdict) -> Finding:
    objective = task.objective
    gap = objective.gap(verdict.score)
    if gap is None:
        return Finding("direction", "ok", f"{objective.direction}; best_known is not given, so gaps will be unknown")
    if gap < 0:
        return Finding(
            "direction",
            "mend",
            f"the template is better than best_known={objective.best_known:g}: the direction or that value is wrong",
        )
    return Finding("direction", "ok", f"{objective.direction}, the template is {100 * gap:.2f} % from the best known")


def _unchanged(before: str, after: str) -> Finding:
    if before == after:
        return Finding("use", "ok", "instances are the same after their first use, so a run can be resumed")
    advice = "keep what is computed from them in functools.cached_property, or outside"
    return Finding("use", "mend", f"instances change when they are used, so no run could be resumed; {advice}")


def _trusted(task: Task, solutions: Sequence[Any], verdict: Verdict) -> Finding:
    """Hand `score` what a cheating program could return; none of it may come out better than the template."""
    for instance, solution, honest in zip(task.instances("search"), solutions, verdict.scores, strict=True):
        for what, forged in _forgeries(solution):
            try:
                with np.errstate(all="ignore"):
                    score = float(task.score(instance, forged))
            except PROVOKED:
                continue
            if not math.isfinite(score):
                continue  # the judge rejects it
            if task.objective.utility(score) > task.objective.utility(honest):
                return Finding(
                    "trusted scoring", "mend", f"a solution with {what} scores {score:.6g}, better than the template's"
                )
    return Finding("trusted scoring", "ok", "no forged solution scores better than the template")


def _forgeries(solution: Any) -> Iterator[tuple[str, Any]]:
    """Solutions as no honest program returns them, each with a name for what is wrong."""
    arrays = as_arrays(solution)
    forged = {
        "nothing in it": {name: array[:0] if array.ndim else array for name, array in arrays.items()},
        "everything twice": {
            name: np.concatenate([array, array]) if array.ndim else array for name, array in arrays.items()
        },
        "NaN for every number": {name: np.full(array.shape, np.nan) for name, array in arrays.items()},
        "infinity for every number": {name: np.full(array.shape, np.inf) for name, array in arrays.items()},
        "only zeros": {name: np.zeros_like(array) for name, array in arrays.items()},
        "only minus ones": {
            name: np.full_like(array, -1) if array.dtype.kind in "if" else array for name, array in arrays.items()
        },
        "huge numbers": {name: np.full(array.shape, 2**40) for name, array in arrays.items()},
    }
    for what, named in forged.items():
        yield what, named if set(named) != {""} else named[""]


def _scoring_time(task: Task, solutions: Sequence[Any]) -> Finding:
    began = time.perf_counter()
    for instance, solution in zip(task.instances("search"), solutions, strict=True):
        task.score(instance, solution)
        task.trajectory(instance, solution)
    seconds = time.perf_counter() - began
    message = f"{1000 * seconds:.1f} ms for scoring all instances"
    if seconds > SLOW_SCORE_S:
        return Finding("scoring time", "warning", f"{message}; it runs in the trusted process, let `solve` do the work")
    return Finding("scoring time", "ok", message)


def _trajectories(task: Task, verdict: Verdict) -> Iterator[Finding]:
    lengths = [len(trajectory) for trajectory in verdict.trajectories]
    if max(lengths) < 2:
        yield Finding("trajectory", "warning", "one state only: behaviour is then no more than the result")
    else:
        yield Finding("trajectory", "ok", f"{verdict.trajectories[0].kind}, {min(lengths)} to {max(lengths)} states")
    yield _normaliser(task, verdict)


def _normaliser(task: Task, verdict: Verdict) -> Finding:
    """The normaliser must not be smaller than a distance that occurs: the template's own states are tried."""
    from behavesim.similarity import BehaveSim

    measure = BehaveSim(task.normaliser)
    try:
        for one in verdict.trajectories:
            for other in verdict.trajectories:
                if one.kind == other.kind:
                    measure.similarity(one, other)
    except TrajectoryError as error:
        return Finding("normaliser", "mend", str(error))
    return Finding("normaliser", "ok", f"{task.normaliser}")


def _isolation(level: str) -> Finding:
    if level in ("strong", "strong+"):
        return Finding("isolation", "ok", level)
    return Finding(
        "isolation", "warning", f"{level}: a run here needs --allow-weak-isolation; `behavesim doctor` says why"
    )
