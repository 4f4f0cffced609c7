"""Tests of differences: between groups of runs, and of recommended programs against the search's best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TypeVar

from behavesim.analysis.groups import RunGroup
from behavesim.analysis.metrics import CHOICE_GAIN, CHOICE_GAP, Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.statistics import (
    SIGNIFICANCE,
    MeanDifference,
    Paired,
    holm,
    least_p_of_pairs,
    mean_difference,
    paired,
    paired_difference,
)

K = TypeVar("K")
Tested = TypeVar("Tested", "GroupTest", "ChoiceTest")
Pairs = Sequence[tuple[str, str]]
"""Pairs of group labels to test, decided before the results were seen."""
Values = Sequence[tuple[int | None, float]]
"""The known values of a group's runs in a metric, each with the run's seed. The seed is None if runs of that seed begin
no more alike than others, since a language model answers anew every time."""
PRIMARY = (
    *("held_out_recommended_gap", "held_out_recommended"),
    *("held_out_best_gap", "held_out_best", "best_gap", "best_score"),
)
"""Metrics that can be the primary one of a task, preferred first: the first by which a test of the task is possible."""


@dataclass(frozen=True)
class GroupTest(MeanDifference):
    """The difference between the groups `a` and `b` in a metric, mean of a − mean of b.

    `is_primary` is whether the metric is the task's primary one, on which conclusions rest; the others are exploratory.
    `p_holm` is `p` corrected (Holm) for all primary tests on all tasks, or, if the test is exploratory, for all of them
    by this metric; None where `p` is None.
    """

    metric: str
    a: str
    b: str
    is_primary: bool
    p_holm: float | None = None

    @property
    def is_significant(self) -> bool:
        """Whether the metric is primary and the corrected p-value below the significance level of 0.05."""
        return self.is_primary and self.p_holm is not None and self.p_holm < SIGNIFICANCE


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


def group_tests(
    values: Mapping[K, Mapping[str, Mapping[str, Values]]],
    pairs: Pairs | None,
    metrics: Sequence[Metric],
    primary: Sequence[str] = PRIMARY,
) -> dict[K, tuple[GroupTest, ...]]:
    """Return the tests between the groups of each task, metric by metric, with corrected p-values.

    `values` has each task's values by the group's label and the metric's name. None for `pairs` tests all pairs.
    Metrics whose `direction` is None are not tested. Pairs with an unknown label, or with a group without values, are
    left out. A task's primary metric is the first of `primary` by which it has a test.

    Groups are compared seed by seed (`paired_difference`) if they share enough seeds: runs of one seed begin with the
    same programs, and what these contribute cancels out. Otherwise they count as independent (`mean_difference`), which
    stays valid for such runs and only finds less.
    """
    tested = [metric.name for metric in metrics if metric.direction is not None]
    planned = {task: _planned(groups, pairs, tested) for task, groups in values.items()}
    decisive = {task: _first(primary, {name for name, _, _ in plan}) for task, plan in planned.items()}
    # The size of each family is known before any value is looked at: the choice of a test must not depend on values.
    sizes = Counter(None if name == decisive[task] else name for task, plan in planned.items() for name, _, _ in plan)
    tests: dict[K, list[GroupTest]] = {task: [] for task in values}
    for task, plan in planned.items():
        for name, a, b in plan:
            is_primary = name == decisive[task]
            found = _difference(values[task][a][name], values[task][b][name], sizes[None if is_primary else name])
            tests[task].append(GroupTest(**vars(found), metric=name, a=a, b=b, is_primary=is_primary))
    return corrected(tests, lambda test: None if test.is_primary else test.metric)


def _planned(
    groups: Mapping[str, Mapping[str, Values]], pairs: Pairs | None, metrics: Sequence[str]
) -> list[tuple[str, str, str]]:
    """Return the tests that are possible between groups of one task: the metric and the two labels of each."""
    chosen = list(combinations(groups, 2)) if pairs is None else pairs
    here = [(a, b) for a, b in chosen if a in groups and b in groups]
    return [(name, a, b) for name, (a, b) in product(metrics, here) if groups[a].get(name) and groups[b].get(name)]


def _first(preferred: Sequence[str], known: Collection[str]) -> str | None:
    return next((name for name in preferred if name in known), None)


def _difference(a: Values, b: Values, tests: int) -> MeanDifference:
    """Return the difference between two groups, one of `tests` of a family: seed by seed, or of independent groups.

    Seed by seed if more than half of each group's seeds are shared, and if so many pairs could be significant at all
    after the correction: the signed-rank test needs more of them than Mann and Whitney's.
    """
    ours, theirs = _by_seed(a), _by_seed(b)
    shared = [seed for seed in ours if seed in theirs]
    is_most = 2 * len(shared) > max(len(ours), len(theirs))
    if is_most and least_p_of_pairs(len(shared), tests) < SIGNIFICANCE:
        return paired_difference([ours[seed] for seed in shared], [theirs[seed] for seed in shared])
    return mean_difference([value for _, value in a], [value for _, value in b])


def _by_seed(values: Values) -> dict[int, float]:
    """Return the mean value of each seed's runs; runs without a seed are left out."""
    found: dict[int, list[float]] = {}
    for seed, value in values:
        if seed is not None:
            found.setdefault(seed, []).append(value)
    return {seed: sum(alike) / len(alike) for seed, alike in found.items()}


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


def corrected(
    by_task: Mapping[K, Sequence[Tested]], family: Callable[[Tested], str | None]
) -> dict[K, tuple[Tested, ...]]:
    """Return the tests of each task with their `p_holm`: one Holm correction per `family`, over all tasks."""
    every = [test for tests in by_task.values() for test in tests]
    p_holm: dict[tuple[str | None, float | None], float | None] = {}  # Holm's correction of equal p-values is equal
    for name in {family(test) for test in every}:
        p_values = [test.p for test in every if family(test) == name]
        p_holm |= {(name, p): corrected for p, corrected in zip(p_values, holm(p_values), strict=True)}
    return {
        task: tuple(replace(test, p_holm=p_holm[family(test), test.p]) for test in tests)
        for task, tests in by_task.items()
    }
