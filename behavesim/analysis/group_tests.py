"""Tests of differences: between groups of runs, and of recommended programs against the search's best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TypeVar

from behavesim.analysis.groups import RunGroup
from behavesim.analysis.metrics import CHOICE_GAIN, CHOICE_GAP, Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.statistics import SIGNIFICANCE, MeanDifference, Paired, holm, mean_difference, paired

Pairs = Sequence[tuple[str, str]]
"""Pairs of group labels to test, decided before the results were seen."""


@dataclass(frozen=True)
class GroupTest(MeanDifference):
    """The difference between the groups `a` and `b` in a metric, mean of a − mean of b.

    `p_holm` is `p` corrected for all tests of this metric on all tasks; None where `p` is None.
    """

    metric: str
    a: str
    b: str
    p_holm: float | None = None

    @property
    def stands_out(self) -> bool:
        """Whether the corrected p-value is below the significance level of 0.05."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANCE


@dataclass(frozen=True)
class ChoiceTest(Paired):
    """Paired test of a task's runs on held-out instances: the recommended program against the search's best.

    A value is how much better a run's recommended program is, in the unit of `metric`; negative if it is worse. The
    mean, its interval and the test use one value per seed, the mean of its runs, since runs of one seed begin alike.
    `runs` is the number of runs with a value: `better` + `equal` + `worse`. `unknown` counts the runs without one,
    since a program failed or its value is unknown. `p_holm` is `p` corrected for all tests of this metric on all tasks;
    None where `p` is None.
    """

    metric: str
    runs: int
    better: int
    equal: int
    worse: int
    unknown: int
    seeds: int
    p_holm: float | None = None


def tests_between(
    values: Mapping[str, Mapping[str, Sequence[float]]], pairs: Pairs | None, metrics: Sequence[Metric]
) -> list[GroupTest]:
    """Return the tests between the groups of one task, without `p_holm`, metric by metric.

    `values` has the known values of each group's runs, by the group's label and the metric's name. None for `pairs`
    tests all pairs. Metrics whose `direction` is None are not tested. Pairs with an unknown label, or with a group
    without values, are left out.
    """
    chosen = list(combinations(values, 2)) if pairs is None else pairs
    here = [(first, second) for first, second in chosen if first in values and second in values]
    tests = []
    for metric, (first, second) in product((metric.name for metric in metrics if metric.direction is not None), here):
        a, b = values[first].get(metric), values[second].get(metric)
        if a and b:
            tests.append(GroupTest(**vars(mean_difference(a, b)), metric=metric, a=first, b=second))
    return tests


def choice_tests(groups: Sequence[RunGroup]) -> list[ChoiceTest]:
    """Return the tests of the groups' recommended programs, by gap and gain, without `p_holm`; none without values."""
    tried = [run for group in groups for run in group.runs if run.held_out is not None]
    return [choice for metric in (CHOICE_GAP, CHOICE_GAIN) if (choice := _choice(metric, tried)) is not None]


def _choice(metric: Metric, tried: Sequence[RunReport]) -> ChoiceTest | None:
    """Return the test by one metric over the runs tried on held-out instances; None if none of them has a value."""
    by_seed: dict[int, list[float]] = {}
    for run in tried:
        if (value := run.metrics[metric.name]) is not None:
            by_seed.setdefault(run.summary.seed, []).append(value)
    values = [value for alike in by_seed.values() for value in alike]
    if not values:
        return None
    return ChoiceTest(
        # one value per seed, since runs of one seed begin alike and are not independent
        **vars(paired([sum(alike) / len(alike) for alike in by_seed.values()])),
        metric=metric.name,
        runs=len(values),
        better=sum(value > 0 for value in values),
        equal=sum(value == 0 for value in values),
        worse=sum(value < 0 for value in values),
        unknown=len(tried) - len(values),
        seeds=len(by_seed),
    )


K = TypeVar("K")
Tested = TypeVar("Tested", GroupTest, ChoiceTest)


def corrected(by_family: Mapping[K, Sequence[Tested]]) -> dict[K, tuple[Tested, ...]]:
    """Return the tests of each family (key) with their `p_holm`: one Holm correction per metric, over all families."""
    every = [test for tests in by_family.values() for test in tests]
    p_holm: dict[tuple[str, float | None], float | None] = {}  # Holm's correction of equal p-values is equal
    for metric in {test.metric for test in every}:
        p_values = [test.p for test in every if test.metric == metric]
        p_holm |= {(metric, p): corrected for p, corrected in zip(p_values, holm(p_values), strict=True)}
    return {
        family: tuple(replace(test, p_holm=p_holm[test.metric, test.p]) for test in tests)
        for family, tests in by_family.items()
    }
