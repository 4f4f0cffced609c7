"""What a comparison's tests say, in words, and what so few runs can show at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from behavesim.analysis.comparison import RunComparison, TaskComparison
from behavesim.analysis.group_tests import GroupTest
from behavesim.analysis.groups import Family
from behavesim.analysis.metrics import Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.statistics import SIGNIFICANCE, least_p, least_p_of_pairs


@dataclass(frozen=True)
class Verdict:
    """What the test between the groups `a` and `b` of one task and its instances says.

    `sentence` says it in words. `is_told_apart` is whether the corrected p-value is below the level of significance.
    `least_p` is the smallest corrected p-value that so many runs can show.
    """

    family: Family
    metric: str
    a: str
    b: str
    is_told_apart: bool
    least_p: float
    sentence: str


def too_few(runs: int, tests: int = 1) -> str:
    """Return a sentence if so many runs per group cannot show a difference in `tests` tests of a metric, else "".

    Its p-value would have to be below the level of significance, 0.05. For no tests it is "".
    """
    least = least_p(runs, runs, tests)
    if tests < 1 or least < SIGNIFICANCE:
        return ""
    enough = next(more for more in range(max(2, runs), 100) if least_p(more, more, tests) < SIGNIFICANCE)
    if runs < 2:
        shown = _p(least_p(enough, enough, tests))
        return f"One run per group: no test possible. Run at least {enough} seeds ({enough} and {enough}: p ≥ {shown})."
    corrected = f" after correction for {tests} tests" if tests > 1 else ""
    return (
        f"At least {enough} runs per group are needed for p < .05{corrected}; {runs} per group are too few for any "
        f"result below {_p(least)}."
    )


def verdicts(found: RunComparison) -> tuple[Verdict, ...]:
    """Return a verdict for each test by a task's primary metric, task by task.

    A test between groups that have too few runs for a p-value has a verdict, too, which says so.
    """
    metrics = {metric.name: metric for metric in found.metrics}
    primary = [(task, test) for task in found.tasks for test in task.tests if test.is_primary]
    counted = max(1, sum(test.p is not None for _, test in primary))  # Holm's correction is over all tasks
    return tuple(
        _verdict(test, task.family, _sizes(found, task, test.metric), metrics[test.metric], counted)
        for task, test in primary
    )


def _sizes(found: RunComparison, task: TaskComparison, metric: str) -> dict[str, int]:
    """Return how many values of the metric each group of a task was tested with, by its label."""

    def is_tested(run: RunReport) -> bool:
        return run.metrics[metric] is not None and run.summary.run not in found.untested

    return {group.label: sum(map(is_tested, group.runs)) for group in found.groups_of(task)}


def _verdict(test: GroupTest, family: Family, sizes: Mapping[str, int], metric: Metric, tests: int) -> Verdict:
    """Return the verdict of a test among `tests` of its family; `sizes` counts the values by group label."""
    a, b = sizes[test.a], sizes[test.b]
    if test.pairs is not None:
        least, runs = least_p_of_pairs(test.pairs, tests), f"{test.pairs} runs per group, paired by seed"
    else:
        least, runs = least_p(a, b, tests), f"{a} runs per group" if a == b else f"{a} and {b} runs"
    sentence = _sentence(test, metric, runs, least, tests)
    return Verdict(family, test.metric, test.a, test.b, test.is_significant, least, sentence)


def _sentence(test: GroupTest, metric: Metric, runs: str, least: float, tests: int) -> str:
    """Return what a test says; `runs` are words, `least` is the smallest corrected p-value that so many can show."""
    if test.p_holm is None:
        return f"No test of {test.a} and {test.b} by {metric.title}: it takes 2 runs or more of each"
    p = f"p = {_p(test.p_holm)}{' after Holm' if tests > 1 else ''}"
    if test.is_significant:
        return f"{_better(test, metric)} by {metric.title}: {p}, {runs}"
    said = f"No significant difference in {metric.title} between {test.a} and {test.b}"
    few = f" are too few for any result below {_p(least)}" if least >= SIGNIFICANCE else ""
    return f"{said} ({p}; {runs}{few})"


def _better(test: GroupTest, metric: Metric) -> str:
    """Return which group is better, or, if the task decides what is better, whether a is lower or higher than b."""
    # The interval and not the mean, which a single run can turn: it is on the side of 0 that the test found.
    is_lower = (test.difference if test.low is None or test.high is None else test.low + test.high) < 0
    if metric.direction == "task":
        return f"{test.a} is {'lower' if is_lower else 'higher'} than {test.b}"
    first, second = (test.a, test.b) if is_lower == (metric.direction == "lower") else (test.b, test.a)
    return f"{first} is better than {second}"


def _p(value: float) -> str:
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"
