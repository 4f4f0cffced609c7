"""Comparison of runs: runs that differ only in their seed form a group; differences between groups are tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TypeVar

from behavesim.analysis.groups import Family, Ranks, RunGroup, grouped, is_finished, ranks, repeats
from behavesim.analysis.islands import DiversityAt
from behavesim.analysis.metrics import CHOICE_GAIN, CHOICE_GAP, METRICS, Metric, measured
from behavesim.analysis.report import RunReport
from behavesim.analysis.statistics import (
    SIGNIFICANCE,
    MeanDifference,
    Paired,
    Sample,
    holm,
    mean_difference,
    mean_of_known,
    paired,
    sample,
)
from behavesim.base.score_source import ScoreSource

Pairs = Sequence[tuple[str, str]]
"""Pairs of group labels to test, decided before the results were seen."""


@dataclass(frozen=True)
class MeanDiversity:
    """Diversity after `registered` candidates, as means over the runs that have a value; None if none has.

    `intra` and `inter` are distances 1 − BehaveSim in [0, 1] inside and between islands; `separation` is the mean of
    each run's own ratio of the distance between islands to that inside.
    """

    registered: int
    intra: float | None
    inter: float | None
    separation: float | None


@dataclass(frozen=True)
class GroupResult:
    """The results of a group's runs.

    `asked` is the smallest and the largest number of candidates that a run asked for; `budget` is the first run's, or
    the number that it asked for if that is larger. `unfinished` names the runs that have not spent theirs. `metrics`
    has a sample for each metric, by name, that at least one run has a value for.
    """

    label: str
    method: str
    runs: tuple[str, ...]
    seeds: tuple[int, ...]
    asked: tuple[int, int]
    budget: int
    unfinished: tuple[str, ...]
    metrics: Mapping[str, Sample]
    diversity_over_time: tuple[MeanDiversity, ...]


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


@dataclass(frozen=True)
class TaskComparison:
    """Groups and tests of the runs on one task with equal instances; `instances` is the hash of these.

    The hash is empty if the runs did not record it. All runs have one source of scores. `tests` are between groups,
    `choice` between recommended programs and the search's best.
    """

    task: str
    instances: str
    score_source: ScoreSource
    groups: tuple[GroupResult, ...]
    tests: tuple[GroupTest, ...]
    choice: tuple[ChoiceTest, ...]

    @property
    def family(self) -> Family:
        """The task, the hash of its instances and the source of its scores, as those of its groups of runs."""
        return self.task, self.instances, self.score_source


@dataclass(frozen=True)
class RunComparison:
    """Reports of runs with the values of all metrics, and their comparison.

    `repeats` names the runs that repeat another run and are left out. `untested` names the runs that are left out of
    tests and ranks because they have not spent their budget. `ranks` ranks the groups by their best gap. It is None
    without that metric, for fewer than two groups with a gap, or if they share fewer than two pairs of task and seed.
    """

    metrics: tuple[Metric, ...]
    runs: tuple[RunReport, ...]
    groups: tuple[RunGroup, ...]
    tasks: tuple[TaskComparison, ...]
    repeats: tuple[str, ...]
    untested: tuple[str, ...]
    ranks: Ranks | None = None

    def groups_of(self, task: TaskComparison) -> list[RunGroup]:
        """Return the groups of runs on a task and its instances, with all their runs."""
        return [group for group in self.groups if group.family == task.family]


def comparison(
    runs: Sequence[RunReport],
    pairs: Pairs | None = None,
    metrics: Sequence[Metric] = METRICS,
    tests_unfinished: bool = False,
) -> RunComparison:
    """Compare runs: for each task and its instances, return the groups with their results and the tests between them.

    A metric is tested if lower or higher values of it are better: between the given pairs of groups, or all pairs if
    `pairs` is None. Tests use unfinished runs only if `tests_unfinished`. Holm's correction covers all tests of one
    metric on all tasks. If fewer than two runs remain without repeats, the comparison has no groups and no tasks.
    Raises UsageError if a user's own metric fails.
    """
    runs = [measured(run, metrics) for run in runs]
    again = set(repeats(runs))  # counted once, since copies are no independent samples
    counted = [run for place, run in enumerate(runs) if place not in again]
    groups = grouped(counted) if len(counted) > 1 else []
    # by default without unfinished runs: they asked for fewer candidates than those they would be compared with
    tested = groups if tests_unfinished else [group.finished for group in groups]
    tasks = _by_task(groups, tested, pairs, metrics)
    unfinished = [name for task in tasks for group in task.groups for name in group.unfinished]
    return RunComparison(
        metrics=tuple(metrics),
        runs=tuple(runs),
        groups=tuple(groups),
        tasks=tasks,
        repeats=tuple(runs[place].summary.run for place in sorted(again)),
        untested=() if tests_unfinished else tuple(unfinished),
        ranks=next((ranks(tested, metric) for metric in metrics if metric.name == "best_gap"), None),
    )


def _by_task(
    groups: Sequence[RunGroup], tested: Sequence[RunGroup], pairs: Pairs | None, metrics: Sequence[Metric]
) -> tuple[TaskComparison, ...]:
    """Return the comparison of each family: the results of all its groups, and tests between those in `tested`.

    They are between `pairs` of labels, or all pairs for None.
    """
    families = list(dict.fromkeys(group.family for group in groups))
    ours = {family: [group for group in tested if group.family == family] for family in families}
    values = {
        family: {group.label: {metric.name: _values(group, metric.name) for metric in metrics} for group in groups}
        for family, groups in ours.items()
    }
    tests = corrected({family: tests_between(values[family], pairs, metrics) for family in families})
    choices = corrected({family: _choices(ours[family]) for family in families})
    return tuple(
        TaskComparison(
            *family, tuple(_result(group) for group in groups if group.family == family), tests[family], choices[family]
        )
        for family in families
    )


def _result(group: RunGroup) -> GroupResult:
    """Return the results of a group, from all its runs."""
    asked = [run.summary.asked for run in group.runs]
    values = {name: _values(group, name) for name in group.runs[0].metrics}
    return GroupResult(
        label=group.label,
        method=group.runs[0].summary.method,
        runs=tuple(run.summary.run for run in group.runs),
        seeds=tuple(run.summary.seed for run in group.runs),
        asked=(min(asked), max(asked)),
        budget=group.budget,
        unfinished=tuple(run.summary.run for run in group.runs if not is_finished(run)),
        metrics={name: sample(known) for name, known in values.items() if known},
        diversity_over_time=_over_time(group),
    )


def _over_time(group: RunGroup) -> tuple[MeanDiversity, ...]:
    """Return means over the group's runs, for each number of registered candidates at which one has a diversity."""
    moments: dict[int, list[DiversityAt]] = {}
    for run in group.runs:
        for then in run.diversity_over_time:
            moments.setdefault(then.registered, []).append(then)
    return tuple(
        MeanDiversity(
            registered,
            mean_of_known([then.inside for then in alike]),
            mean_of_known([then.inter for then in alike]),
            mean_of_known([then.separation for then in alike]),
        )
        for registered, alike in sorted(moments.items())
    )


def _values(group: RunGroup, metric: str) -> list[float]:
    """Return a metric's values of the group's runs that have one, in their order."""
    values = (run.metrics[metric] for run in group.runs)
    return [value for value in values if value is not None]


def tests_between(
    values: Mapping[str, Mapping[str, Sequence[float]]], pairs: Pairs | None, metrics: Sequence[Metric]
) -> list[GroupTest]:
    """Return the tests between the groups of one task, without `p_holm`, metric by metric.

    `values` has the known values of each group's runs, by the group's label and the metric's name. None for `pairs`
    tests all pairs. Pairs with an unknown label, or with a group without values, are left out.
    """
    chosen = list(combinations(values, 2)) if pairs is None else pairs
    here = [(first, second) for first, second in chosen if first in values and second in values]
    tests = []
    for metric, (first, second) in product((metric.name for metric in metrics if metric.direction is not None), here):
        a, b = values[first].get(metric), values[second].get(metric)
        if a and b:
            tests.append(GroupTest(**vars(mean_difference(a, b)), metric=metric, a=first, b=second))
    return tests


def _choices(groups: Sequence[RunGroup]) -> list[ChoiceTest]:
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
