"""Checks what a task's trusted code returns for the template's solutions and for forged ones."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import PROVOKED, Finding, TaskError, TrajectoryError
from behavesim.base.text import duration
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.processes import seconds_without_a_core
from behavesim.sandbox.referee import verdict_on
from behavesim.task import Solution, Task, as_arrays, instances_of
from behavesim.task.verdict import Failure, Solved, Verdict
from behavesim.trajectory import AlgorithmRun, Trajectory, trajectories_of

# Forged solutions, made from an honest one: what a program could return to get a score without solving anything.


# Most parts (rows of arrays) of a solution that are each put in place of all others; more would take long.
PARTS = 50

# One array of a solution, of any shape.
Array = NDArray[Any]


@dataclass(frozen=True)
class Forgery:
    """A forged solution.

    `what` describes it, to follow "a solution with". An `absurd` one breaks the rules of every problem. A `renamed` one
    has the honest solution's things under other names: accepted at the same score, it shows that names are not checked.
    """

    what: str
    solution: Solution
    absurd: bool = False
    renamed: bool = False


def forgeries(solution: Solution, instance: Any) -> Iterator[Forgery]:
    """Yield forgeries of an instance's solution: its arrays emptied, doubled, with other numbers or one part repeated.

    If it has arrays of whole numbers from 0, which may be indices, there are some with indices below 0, too.
    """
    forged = partial(_forge, solution)
    yield forged("nothing in it", lambda array: array[:0] if array.ndim else array, absurd=True)
    yield forged("everything twice", lambda array: np.concatenate([array, array]) if array.ndim else array, absurd=True)
    yield forged("NaN for every number", lambda array: np.full(array.shape, np.nan), absurd=True)
    yield forged("infinity for every number", lambda array: np.full(array.shape, np.inf), absurd=True)
    yield forged("only zeros", np.zeros_like)
    yield forged("only minus ones", lambda array: np.full_like(array, -1) if array.dtype.kind in "if" else array)
    # 2^40 is beyond every index, and exact as a float
    yield forged("huge numbers", lambda array: np.full(array.shape, 2**40))
    for part in range(min(PARTS, _parts(solution))):
        yield forged("one part all over", partial(_all_over, part))
    if any(map(_are_indices, as_arrays(solution).values())):
        yield from _below_zero(solution, instance)


def halves(solution: Solution) -> Iterator[Forgery]:
    """Yield a solution with the first half of each array, then one with the second; nothing if none has two parts.

    An array of fewer than two parts stays whole.
    """
    if _parts(solution) >= 2:
        yield _forge(solution, "only its first half", lambda array: _half(array, first=True))
        yield _forge(solution, "only its second half", lambda array: _half(array, first=False))


def _below_zero(solution: Solution, instance: Any) -> Iterator[Forgery]:
    """Yield forgeries whose indices are below 0: NumPy counts those from the end, and `x[x >= 0]` leaves them out."""

    def from_the_end(array: Array) -> Array:
        return array.astype(np.int64) - _things(instance, int(array.max()) + 1)

    def half_twice(array: Array) -> Array:
        half = _half(array, first=True)
        return np.concatenate([half, half.astype(np.int64) - _things(instance, int(array.max()) + 1)])

    def everything(array: Array) -> Array:
        return np.arange(-_things(instance, int(array.max()) + 1), 0) if array.ndim == 1 else from_the_end(array)

    def forged(what: str, change: Callable[[Array], Array]) -> Forgery:
        return _forge(solution, what, lambda array: change(array) if _are_indices(array) else array)

    yield replace(forged("its indices counted from the end", from_the_end), renamed=True)
    yield forged("every index, counted from the end", everything)
    yield forged("its first half twice, the second time counted from the end", half_twice)
    yield forged("its indices negated", lambda array: -array.astype(np.int64))


def _are_indices(array: Array) -> bool:
    """Whether an array may hold indices: whole numbers from 0, at least one."""
    return bool(array.ndim and array.size and array.dtype.kind in "iu" and array.min() >= 0)


def _things(instance: Any, least: int) -> int:
    """Return how many things an instance has: the least length that it or a part of it has, `least` or more."""
    if isinstance(instance, Mapping):
        parts = list(instance.values())
    else:
        parts = (
            list(instance) if isinstance(instance, list | tuple) else list(getattr(instance, "__dict__", {}).values())
        )
    lengths = [len(each) for each in (instance, *parts) if isinstance(each, list | tuple)]
    lengths += [length for each in (instance, *parts) if isinstance(each, np.ndarray) for length in each.shape]
    return min((length for length in lengths if length >= least), default=least)


def _forge(solution: Solution, what: str, change: Callable[[Array], Array], absurd: bool = False) -> Forgery:
    """Return a forgery made by changing each array of a solution; an `absurd` one breaks every problem's rules."""
    changed = {name: change(array) for name, array in as_arrays(solution).items()}
    return Forgery(what, changed if set(changed) != {""} else changed[""], absurd)


def _parts(solution: Solution) -> int:
    """Return the length of the longest array; 0 if all are single numbers."""
    return max((len(array) for array in as_arrays(solution).values() if array.ndim), default=0)


def _half(array: Array, first: bool) -> Array:
    if not array.ndim or len(array) < 2:
        return array
    middle = len(array) // 2
    return array[:middle] if first else array[middle:]


def _all_over(part: int, array: Array) -> Array:
    """Return a copy of an array, of its shape and type, in which every row is the one at index `part`."""
    return np.repeat(array[part % len(array)][None], len(array), axis=0) if array.ndim and len(array) else array


# Longest time for scoring all instances without a warning (s): scoring runs beside the search and delays it.
SLOW_SCORE_S = 0.05

FEWEST_UNITS, MOST_UNITS = 0.1, 1000.0
"""Range of the template's score / `score_scale`. Outside it the softmax over clusters is flat or picks the best."""


def examine_solutions(
    task: Task, first: Solved, second: Solved | Failure, seconds: float, limits: Limits
) -> Iterator[Finding]:
    """Yield the findings on two runs of the template, `first` and `second`; the second took `seconds` by the clock.

    `limits` are those of a program. Raises TaskError if the task's trusted code fails on their solutions or on forged
    ones.
    """
    verdict = judge_solutions(task, first)
    score, scores = verdict.score, verdict.scores
    yield _template(task, score, first.cpu_s, seconds, limits)
    yield _deterministic(task, first, second, verdict)
    yield _direction(task, score)
    yield _score_scale(task, score)
    yield _check_scoring(task, first.solutions, scores)
    yield _whole(task, first.solutions, scores)
    yield _scoring_time(task, first)
    yield from _trajectories(task, verdict.trajectories)


def judge_solutions(task: Task, solved: Solved) -> Verdict:
    """Return the verdict on honest solutions of the search instances; raises TaskError if they cannot be judged."""
    verdict = verdict_on(task, instances_of(task, "search"), solved)
    if isinstance(verdict, Failure):
        raise TaskError(f"the template's solutions cannot be judged: {verdict.message}")
    return verdict


def _template(task: Task, score: float, cpu_s: float, seconds: float, limits: Limits) -> Finding:
    """Return a finding on the template's time: `cpu_s` of CPU in one run, `seconds` by the clock in another."""
    long = duration(task.budget * seconds)
    message = f"score {score:.6g} in {seconds:.3f} s; {task.budget} such programs take {long} on one worker"
    # models often write programs that are several times slower than the template
    if cpu_s > limits.timeout_s / 5:
        return Finding("template", "warning", f"{message}; that is near the limit of {limits.timeout_s:g} s")
    return Finding("template", "ok", "; ".join(filter(None, (message, limits.timeout_advice(seconds)))))


def _deterministic(task: Task, first: Solved, second: Solved | Failure, verdict: Verdict) -> Finding:
    """Return a finding: "fail" unless judging `first` again and the second run both give `verdict`, that on `first`."""
    if judge_solutions(task, first) != verdict:
        return Finding("determinism", "fail", "`score` or `trajectory` returns something else for the same solution")
    # the CPU time is no result
    if isinstance(second, Failure) or _timeless(judge_solutions(task, second)) != _timeless(verdict):
        message = "the template gives other results on a second run; seed what `solve` draws"
        return Finding("determinism", "fail", message)
    return Finding("determinism", "ok", "the template scores and behaves the same twice")


def _timeless(verdict: Verdict) -> Verdict:
    """Return a verdict without CPU times."""
    return replace(verdict, cpu_s=0.0, counted_s=None)


def _direction(task: Task, score: float) -> Finding:
    """Return a finding on the objective: "fail" if the template is better than the best score known, else "ok"."""
    objective = task.objective
    gap = objective.gap(score)
    if gap is None:
        why = "not given" if objective.best_known is None else "0, and a gap would divide by it"
        return Finding("direction", "ok", f"{objective.direction}; best_known is {why}, so gaps will be unknown")
    if gap < 0:
        better = f"the template is better than best_known={objective.best_known:g}"
        return Finding("direction", "fail", f"{better}: the direction or that value is wrong")
    return Finding("direction", "ok", f"{objective.direction}, the template is {100 * gap:.2f} % from the best known")


def _score_scale(task: Task, score: float) -> Finding:
    """Return a finding on whether the template's score / `score_scale` is from FEWEST_UNITS to MOST_UNITS, or 0."""
    units = abs(score) / task.score_scale
    # a template that scores 0 says nothing about the scale
    if units == 0 or FEWEST_UNITS <= units <= MOST_UNITS:
        return Finding("score scale", "ok", f"{task.score_scale:g}")
    effect = "as if all were alike" if units < FEWEST_UNITS else "the best alone, whatever else was found"
    advice = f"try score_scale = {abs(score) / 10:.1g}"
    message = f"{task.score_scale:g} beside scores of about {score:.6g}: parents are drawn {effect}; {advice}"
    return Finding("score scale", "warning", message)


def _check_scoring(task: Task, solutions: Sequence[Solution], scores: Sequence[float]) -> Finding:
    """Return a finding on whether `score` refuses forged solutions, or scores them no better than the template's."""
    # a forgery that names the same things otherwise is one at an equal score, too
    suspect = renamed = None
    for _, forgery, score, honest in _accepted_forgery(task, solutions, scores, forgeries):
        if score == honest:
            if forgery.renamed:
                renamed = f"a solution with {forgery.what} scores as much as the template's"
            continue
        message = f"a solution with {forgery.what} scores {score:.6g}, better than the template's {honest:.6g}"
        if forgery.absurd:
            advice = "refuse it with InvalidSolution, unless the direction is wrong"
            return Finding("trusted scoring", "fail", f"{message}; {advice}")
        suspect = suspect or f"{message}; if it breaks a rule, refuse it with InvalidSolution"
    if suspect:
        return Finding("trusted scoring", "warning", suspect)
    if renamed:
        advice = "if one thing could be used twice by two names, refuse it with InvalidSolution"
        return Finding("trusted scoring", "warning", f"{renamed}; {advice}")
    return Finding("trusted scoring", "ok", "none of the forged solutions tried scores better than the template")


def _whole(task: Task, solutions: Sequence[Solution], scores: Sequence[float]) -> Finding:
    """Return a finding on whether `score` refuses half a solution, or scores it worse than the whole."""
    accepted: dict[str, list[str]] = {}
    for number, half, score, honest in _accepted_forgery(task, solutions, scores, lambda solution, _: halves(solution)):
        said = f"a solution with {half.what} scores {score:.6g} on instance {number}, the whole {honest:.6g}"
        accepted.setdefault(half.what, []).append(said)
    if not accepted:
        return Finding("whole solutions", "ok", "half a solution is refused, or scores worse than the whole")
    # a half that every instance accepts is a hole in `score`; one that some accept may be luck
    most = max(accepted.values(), key=len)
    advice = "count the parts in `score`, and refuse with InvalidSolution where some are missing"
    return Finding("whole solutions", "fail" if len(most) == len(solutions) else "warning", f"{most[0]}; {advice}")


def _accepted_forgery(
    task: Task,
    solutions: Sequence[Solution],
    scores: Sequence[float],
    forge: Callable[[Solution, Any], Iterator[Forgery]],
) -> Iterator[tuple[int, Forgery, float, float]]:
    """Yield (instance's number from 1, forgery, its score, the honest one) of each forgery that scores no worse."""
    honest = zip(instances_of(task, "search"), solutions, scores, strict=True)
    for number, (instance, solution, whole) in enumerate(honest, 1):
        for forgery in forge(solution, instance):
            score = _score_forged(task, instance, forgery.solution)
            if score is not None and task.objective.utility(score) >= task.objective.utility(whole):
                yield number, forgery, score, whole


def _score_forged(task: Task, instance: Any, solution: Solution) -> float | None:
    """Return the score of a forged solution; None if it is not finite, or `score` refuses the solution."""
    try:
        with np.errstate(all="ignore"):
            score = float(task.score(instance, solution))
    except PROVOKED:
        return None
    except Exception as error:  # of the task's own code: else the check would end in its traceback
        what = type(error).__name__
        raise TaskError(f"`score` raised {what} on a forged solution; InvalidSolution refuses one") from error
    return score if math.isfinite(score) else None


def _scoring_time(task: Task, solved: Solved) -> Finding:
    """Return a finding on how long trusted code takes for the template's solutions, without waiting for a core."""
    cpu_s, waited, began = time.thread_time(), seconds_without_a_core(os.getpid()), time.perf_counter()
    judge_solutions(task, solved)
    seconds = time.perf_counter() - began
    # The waiting time is read outside the clock's two readings, so that all of it is left out. That can be too much,
    # so the time is at least the CPU time.
    seconds = max(seconds - seconds_without_a_core(os.getpid()) + waited, time.thread_time() - cpu_s)
    message = f"{1000 * seconds:.1f} ms for scoring all instances"
    if seconds > SLOW_SCORE_S:
        return Finding("scoring time", "warning", f"{message}; it runs in the trusted process, let `solve` do the work")
    return Finding("scoring time", "ok", message)


def _trajectories(task: Task, trajectories: Sequence[AlgorithmRun]) -> Iterator[Finding]:
    """Yield a finding on the lengths of the template's trajectories, and one on the task's normaliser."""
    lengths = [len(trajectory) for trajectory in trajectories]
    if max(lengths) < 2:
        yield Finding("trajectory", "warning", "one state only: behaviour is then no more than the result")
    else:
        yield Finding("trajectory", "ok", f"{trajectories[0].kind}, {min(lengths)} to {max(lengths)} states")
    yield _normaliser(task, trajectories)


def _normaliser(task: Task, trajectories: Sequence[AlgorithmRun]) -> Finding:
    """Return a finding on whether the normaliser is at least the largest distance from a first state to a later one."""
    from behavesim.similarity import BehaveSim

    measure = BehaveSim(task.normaliser)
    try:
        for trajectory in chain.from_iterable(map(trajectories_of, trajectories)):
            # comparing a trajectory of the first state alone with the whole compares it with every state
            make, state = getattr(Trajectory, trajectory.kind), trajectory.state(0)
            measure.similarity(make(state if trajectory.kind == "prefixes" else [state]), trajectory)
    except TrajectoryError as error:
        return Finding("normaliser", "fail", str(error))
    if task.normaliser == "pair":
        effect = "each distance is divided by the longer of the two states, which changes values a lot"
        advice = "name the greatest distance that two solutions can have"
        return Finding("normaliser", "warning", f"{effect}; {advice}")
    return Finding("normaliser", "ok", f"{task.normaliser}")
