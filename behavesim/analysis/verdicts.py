"""What a comparison's tests say, in words, and what so few seeds can show at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

from behavesim.analysis.comparison import RunComparison, TaskComparison
from behavesim.analysis.group_tests import GroupTest
from behavesim.analysis.groups import Family
from behavesim.analysis.metrics import Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.statistics import SIGNIFICANCE

SPOKEN = (
    *("held_out_recommended_gap", "held_out_recommended"),
    *("held_out_best_gap", "held_out_best", "best_gap", "best_score"),
)
"""Metrics by which verdicts are worded, preferred ones first; a task uses the first for which it has a test."""


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


def least_p(a: int, b: int, tests: int = 1) -> float:
    """Return the smallest p-value that the exact Mann–Whitney test of `a` and `b` values can have, at most 1.

    It is two-sided, and corrected as the smallest of `tests` p-values (Holm). It is 1 if a group has fewer than two.
    """
    return 1.0 if min(a, b) < 2 else min(1.0, tests * 2 / comb(a + b, a))


def too_few(seeds: int, tests: int = 1) -> str:
    """Return a sentence if so many seeds a group cannot show a difference in `tests` tests of a metric, else "".

    Its p-value would have to be below the level of significance, 0.05. For no tests it is "".
    """
    least = least_p(seeds, seeds, tests)
    if tests < 1 or least < SIGNIFICANCE:
        return ""
    if seeds < 2:
        return "one seed a group cannot be tested: take more seeds to tell groups apart"
    enough = next(more for more in range(seeds, 100) if least_p(more, more, tests) < SIGNIFICANCE)
    corrected = f" in {tests} tests" if tests > 1 else ""
    return f"{seeds} seeds each cannot show less than p = {_p(least)}{corrected}: take {enough} to tell groups apart"


def verdicts(found: RunComparison) -> tuple[Verdict, ...]:
    """Return a verdict for each test by the task's first metric of SPOKEN, task by task.

    A test between groups that have too few runs for a p-value has a verdict, too, which says so.
    """
    metrics = {metric.name: metric for metric in found.metrics}
    every = [test for task in found.tasks for test in task.tests]
    counted = Counter(test.metric for test in every if test.p is not None)  # Holm's correction is over all tasks
    said = []
    for task in found.tasks:
        spoken = next((name for name in SPOKEN if any(test.metric == name for test in task.tests)), "")
        tests = [test for test in task.tests if test.metric == spoken]
        sizes = _sizes(found, task, spoken) if tests else {}
        said += [_verdict(test, task.family, sizes, metrics[spoken], max(1, counted[spoken])) for test in tests]
    return tuple(said)


def _sizes(found: RunComparison, task: TaskComparison, metric: str) -> dict[str, int]:
    """Return how many values of the metric each group of a task was tested with, by its label."""

    def is_tested(run: RunReport) -> bool:
        return run.metrics[metric] is not None and run.summary.run not in found.untested

    return {group.label: sum(map(is_tested, group.runs)) for group in found.groups_of(task)}


def _verdict(test: GroupTest, family: Family, sizes: Mapping[str, int], metric: Metric, tests: int) -> Verdict:
    """Return the verdict of a test among `tests` of its metric; `sizes` counts the values by group label."""
    a, b = sizes[test.a], sizes[test.b]
    least = least_p(a, b, tests)
    runs = f"{a} runs each" if a == b else f"{a} and {b} runs"
    return Verdict(family, test.metric, test.a, test.b, test.stands_out, least, _sentence(test, metric, runs, least))


def _sentence(test: GroupTest, metric: Metric, runs: str, least: float) -> str:
    """Return what a test says; `runs` are words, `least` is the smallest corrected p-value that so many can show."""
    by = f"by {metric.title}"
    if test.p_holm is None:
        return f"{test.a} and {test.b} cannot be tested {by}: a test takes two runs or more of each"
    if test.stands_out:
        is_lower = test.difference < 0
        better = _better(test, metric, is_lower)
        return f"{better} {by}: p = {_p(test.p_holm)}, {runs}"
    apart = f"{test.a} and {test.b} are not told apart {by}: p = {_p(test.p_holm)}"
    if least >= SIGNIFICANCE:
        return f"{apart}, and {runs} cannot show less than p = {_p(least)}"
    return f"{apart}, {runs}"


def _better(test: GroupTest, metric: Metric, is_lower: bool) -> str:
    """Return which group is better, or, if the task decides what is better, whether a is lower or higher than b."""
    if metric.direction == "task":
        return f"{test.a} is {'lower' if is_lower else 'higher'} than {test.b}"
    first, second = (test.a, test.b) if is_lower == (metric.direction == "lower") else (test.b, test.a)
    return f"{first} is better than {second}"


def _p(value: float) -> str:
    return f"{value:.2g}"
