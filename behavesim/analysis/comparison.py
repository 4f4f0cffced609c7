"""Comparison of groups of runs that differ only in their seed: estimates, tests, and what they say in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TypeVar

from behavesim.analysis.convergence import DiversityAt
from behavesim.analysis.groups import Family, Ranks, RunGroup, begins_by_seed, group_runs, is_finished, ranks, repeats
from behavesim.analysis.metrics import (
    METRICS,
    RECOMMENDED_GAIN_ADVANTAGE,
    RECOMMENDED_GAP_ADVANTAGE,
    Metric,
    add_metrics,
)
from behavesim.analysis.report import RunReport
from behavesim.analysis.run import distinct_names
from behavesim.analysis.statistics import (
    SIGNIFICANCE,
    MeanDifference,
    Paired,
    Sample,
    compare_pairs,
    holm,
    least_p,
    least_p_of_pairs,
    mean_difference,
    mean_of_known,
    sample,
    summarise_pairs,
)
from behavesim.base.errors import UsageError
from behavesim.base.text import ScoreSource

# Tests of differences: between groups of runs, and of recommended programs against the search's best.


K = TypeVar("K")
AnyTest = TypeVar("AnyTest", "GroupTest", "RecommendationTest")
# Pairs of group labels to test, decided before the results were seen.
Pairs = Sequence[tuple[str, str]]
# The known values of runs in a metric, each with the run's seed. The seed is None if runs of that seed begin no more
# alike than others, since a language model answers anew every time (`begins_by_seed`).
Values = Sequence[tuple[int | None, float]]
# Metrics that can be the primary one of a task, preferred first: the first by which a test of the task is possible.
PRIMARY = (
    *("held_out_recommended_gap", "held_out_recommended_gain"),
    *("held_out_best_gap", "held_out_best_gain", "best_gap", "best_score"),
)


@dataclass(frozen=True)
class GroupTest(MeanDifference):
    """The difference between the groups `a` and `b` in a metric, mean of a − mean of b.

    Conclusions rest on the task's primary metric; tests by others are exploratory. `p_holm` is `p` corrected (Holm) for
    all primary tests on all tasks, or else for all tests by this metric.
    """

    metric: str
    a: str
    b: str
    is_primary: bool
    p_holm: float | None = None

    @property
    def is_significant(self) -> bool:
        """Whether the metric is primary and the corrected p-value below 0.05."""
        return self.is_primary and self.p_holm is not None and self.p_holm < SIGNIFICANCE


@dataclass(frozen=True)
class RecommendationTest(Paired):
    """Paired test of a task's runs on held-out instances: the recommended program against the search's best.

    A value is how much better a run's recommended program is, in the unit of `metric`. The test uses one value per
    seed, the mean of its runs, since runs of one seed begin alike; with a language model, which answers anew, one per
    run. `seeds` is how many these are, `runs` is the number of runs with a value, `unknown` of those without one: a
    program failed there. `p_holm` is `p` corrected for all tests of this metric.
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

    Groups are compared seed by seed (`compare_pairs`) if they share enough seeds: runs of one seed begin with the same
    programs, and what these contribute cancels out. Otherwise they count as independent (`mean_difference`), which
    stays valid for such runs and only finds less.

    Args:
        values: Each task's values by the group's label and the metric's name.
        pairs: Labels to test; None tests all pairs. Those with a group that is unknown or has no values are left out.
        metrics: Those without `direction` are not tested.
        primary: A task's primary metric is the first of these by which it has a test.
    """
    tested = [metric.name for metric in metrics if metric.direction is not None]
    planned = {task: _plan_tests(groups, pairs, tested) for task, groups in values.items()}
    possible = {task: {name for name, _, _ in plan} for task, plan in planned.items()}
    decisive = {task: next((name for name in primary if name in known), None) for task, known in possible.items()}
    # The size of each family is known before any value is looked at: the choice of a test must not depend on values.
    sizes = Counter(None if name == decisive[task] else name for task, plan in planned.items() for name, _, _ in plan)
    tests: dict[K, list[GroupTest]] = {task: [] for task in values}
    for task, plan in planned.items():
        for name, a, b in plan:
            is_primary = name == decisive[task]
            found = _compare(values[task][a][name], values[task][b][name], sizes[None if is_primary else name])
            tests[task].append(GroupTest(**vars(found), metric=name, a=a, b=b, is_primary=is_primary))
    return correct_for_tests(tests, lambda test: None if test.is_primary else test.metric)


def _plan_tests(
    groups: Mapping[str, Mapping[str, Values]], pairs: Pairs | None, metrics: Sequence[str]
) -> list[tuple[str, str, str]]:
    chosen = list(combinations(groups, 2)) if pairs is None else pairs
    here = [(a, b) for a, b in chosen if a in groups and b in groups]
    return [(name, a, b) for name, (a, b) in product(metrics, here) if groups[a].get(name) and groups[b].get(name)]


def _compare(a: Values, b: Values, tests: int) -> MeanDifference:
    # Seed by seed if more than half of each group's seeds are shared, and if so many pairs could be significant at all
    # after the correction: the signed-rank test needs more of them than Mann and Whitney's.
    ours, theirs = _mean_by_seed(a), _mean_by_seed(b)
    shared = [seed for seed in ours if seed in theirs]
    is_most = 2 * len(shared) > max(len(ours), len(theirs))
    if is_most and least_p_of_pairs(len(shared), tests) < SIGNIFICANCE:
        return compare_pairs([ours[seed] for seed in shared], [theirs[seed] for seed in shared])
    return mean_difference([value for _, value in a], [value for _, value in b])


def _mean_by_seed(values: Values) -> dict[int, float]:
    found: dict[int, list[float]] = {}
    for seed, value in values:
        if seed is not None:
            found.setdefault(seed, []).append(value)
    return {seed: sum(alike) / len(alike) for seed, alike in found.items()}


def recommendation_tests(groups: Sequence[RunGroup]) -> list[RecommendationTest]:
    """Return the tests of the groups' recommended programs, by gap and gain, without `p_holm`; none without values."""
    tried = [run for group in groups for run in group.runs if run.held_out is not None]
    tests = []
    for metric in (RECOMMENDED_GAP_ADVANTAGE, RECOMMENDED_GAIN_ADVANTAGE):
        known = _metric_by_seed(tried, metric.name)
        if not known:
            continue
        # one value per seed, since runs of one seed begin alike and are not independent
        alone = [value for seed, value in known if seed is None]
        by_seed, values = [*_mean_by_seed(known).values(), *alone], [value for _, value in known]
        tests.append(
            RecommendationTest(
                **vars(summarise_pairs(by_seed)),
                metric=metric.name,
                runs=len(values),
                better=sum(value > 0 for value in values),
                equal=sum(value == 0 for value in values),
                worse=sum(value < 0 for value in values),
                unknown=len(tried) - len(values),
                seeds=len(by_seed),
            )
        )
    return tests


def correct_for_tests(
    by_task: Mapping[K, Sequence[AnyTest]], family: Callable[[AnyTest], str | None]
) -> dict[K, tuple[AnyTest, ...]]:
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


@dataclass(frozen=True)
class MeanDiversity:
    """Diversity after `registered` candidates, as means over the runs that have a value."""

    registered: int
    intra: float | None
    inter: float | None
    separation: float | None


@dataclass(frozen=True)
class GroupResult:
    """The results of a group's runs; `asked` is the smallest and the largest number of candidates of a run.

    `metrics` has a sample for each metric that at least one run has a value for.
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
class TaskComparison:
    """Groups and tests of the runs on one task with equal instances; `instances` is the hash of these, "" if unknown.

    `tests` are between groups, `recommended_vs_best` between recommended programs and the search's best.
    """

    task: str
    instances: str
    score_source: ScoreSource
    groups: tuple[GroupResult, ...]
    tests: tuple[GroupTest, ...]
    recommended_vs_best: tuple[RecommendationTest, ...]

    @property
    def family(self) -> Family:
        """What all its runs share."""
        return self.task, self.instances, self.score_source


@dataclass(frozen=True)
class RunComparison:
    """Reports of runs with the values of all metrics, and their comparison.

    `repeats` are left out since they repeat another run, `untested` are left out of tests and ranks since they have not
    spent their budget. `ranks` are by the primary metric, if all tasks have the same, else by the best gap.
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
    against: str | None = None,
) -> RunComparison:
    """Compare runs: for each task and its instances, return the groups with their results and the tests between them.

    Tests are between the given pairs of groups, or each group and the one labelled `against`, or all pairs
    (`group_tests`), and use unfinished runs only if `tests_unfinished`. If fewer than two runs remain without repeats,
    there are no groups and no tasks. Raises UsageError if a user's own metric fails, or there is no group `against`.
    """
    runs = [add_metrics(run, metrics) for run in _name_apart(runs)]
    again = set(repeats(runs))  # counted once, since copies are no independent samples
    counted = [run for place, run in enumerate(runs) if place not in again]
    groups = group_runs(counted) if len(counted) > 1 else []
    if against is not None:
        labels = list(dict.fromkeys(group.label for group in groups))
        if against not in labels:
            known = ", ".join(labels) or "none: name two runs or more, of which none repeats another"
            raise UsageError(f"there is no group {against!r} to compare with; there are {known}")
        pairs = [(label, against) for label in labels if label != against]
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
        ranks=_ranks(tested, tasks, metrics),
    )


def _name_apart(runs: Sequence[RunReport]) -> list[RunReport]:
    # tables, files and tests tell runs apart by their names
    names = distinct_names([(run.summary.run, run.origin.folder) for run in runs])
    return [replace(run, summary=replace(run.summary, run=name)) for run, name in zip(runs, names, strict=True)]


def _ranks(tested: Sequence[RunGroup], tasks: Sequence[TaskComparison], metrics: Sequence[Metric]) -> Ranks | None:
    primary = {test.metric for task in tasks for test in task.tests if test.is_primary}
    name = primary.pop() if len(primary) == 1 else "best_gap"
    found = (ranks(tested, metric) for metric in metrics if metric.name == name and metric.direction != "task")
    return next(found, None)


def _by_task(
    groups: Sequence[RunGroup], tested: Sequence[RunGroup], pairs: Pairs | None, metrics: Sequence[Metric]
) -> tuple[TaskComparison, ...]:
    # They are between `pairs` of labels, or all pairs for None.
    families = list(dict.fromkeys(group.family for group in groups))
    ours = {family: [group for group in tested if group.family == family] for family in families}
    values = {
        family: {
            group.label: {metric.name: _metric_by_seed(group.runs, metric.name) for metric in metrics}
            for group in groups
        }
        for family, groups in ours.items()
    }
    tests = group_tests(values, pairs, metrics)
    choices = correct_for_tests(
        {family: recommendation_tests(ours[family]) for family in families}, lambda test: test.metric
    )
    return tuple(
        TaskComparison(
            *family, tuple(_result(group) for group in groups if group.family == family), tests[family], choices[family]
        )
        for family in families
    )


def _result(group: RunGroup) -> GroupResult:
    # unfinished runs are counted here too: the table shows what there is, and tests leave them out
    asked = [run.summary.asked for run in group.runs]
    values = {name: [value for _, value in _metric_by_seed(group.runs, name)] for name in group.runs[0].metrics}
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


def _metric_by_seed(runs: Sequence[RunReport], metric: str) -> Values:
    return [
        (run.summary.seed if begins_by_seed(run) else None, value)
        for run in runs
        if (value := run.metrics[metric]) is not None
    ]


# What a comparison's tests say, in words, and what so few runs can show at all.


@dataclass(frozen=True)
class Verdict:
    """What the test between the groups `a` and `b` says, in a sentence.

    `least_p` is the smallest corrected p-value that so many runs can show.
    """

    family: Family
    metric: str
    a: str
    b: str
    is_significant: bool
    least_p: float
    sentence: str


def too_few(runs: int, tests: int = 1) -> str:
    """Return a sentence if no outcome of `tests` tests of so many runs per group could be significant, else ""."""
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
    """Return a verdict for each test by a task's primary metric, also for one that has no p-value."""
    # only the primary metric: a sentence on each exploratory test would be read as a conclusion
    metrics = {metric.name: metric for metric in found.metrics}
    primary = [(task, test) for task in found.tasks for test in task.tests if test.is_primary]
    counted = max(1, sum(test.p is not None for _, test in primary))  # Holm's correction is over all tasks
    return tuple(
        _verdict(test, task.family, _sizes(found, task, test.metric), metrics[test.metric], counted)
        for task, test in primary
    )


# With few values even the clearest outcome has a large p: a verdict has to say so.
def _sizes(found: RunComparison, task: TaskComparison, metric: str) -> dict[str, int]:

    def is_tested(run: RunReport) -> bool:
        return run.metrics[metric] is not None and run.summary.run not in found.untested

    return {group.label: sum(map(is_tested, group.runs)) for group in found.groups_of(task)}


def _verdict(test: GroupTest, family: Family, sizes: Mapping[str, int], metric: Metric, tests: int) -> Verdict:
    a, b = sizes[test.a], sizes[test.b]
    if test.pairs is not None:
        least, runs = least_p_of_pairs(test.pairs, tests), f"{test.pairs} runs per group, paired by seed"
    else:
        least, runs = least_p(a, b, tests), f"{a} runs per group" if a == b else f"{a} and {b} runs"
    sentence = _sentence(test, metric, runs, least, tests)
    return Verdict(family, test.metric, test.a, test.b, test.is_significant, least, sentence)


def _sentence(test: GroupTest, metric: Metric, runs: str, least: float, tests: int) -> str:
    if test.p_holm is None:
        return f"No test of {test.a} and {test.b} by {metric.title}: it takes 2 runs or more of each"
    p = f"p = {_p(test.p_holm)}{' after Holm' if tests > 1 else ''}"
    if test.is_significant:
        return f"{_better(test, metric)} by {metric.title}: {p}, {runs}"
    said = f"No significant difference in {metric.title} between {test.a} and {test.b}"
    few = f" are too few for any result below {_p(least)}" if least >= SIGNIFICANCE else ""
    return f"{said} ({p}; {runs}{few})"


def _better(test: GroupTest, metric: Metric) -> str:
    # The interval and not the mean, which a single run can turn: it is on the side of 0 that the test found.
    is_lower = (test.difference if test.low is None or test.high is None else test.low + test.high) < 0
    if metric.direction == "task":
        return f"{test.a} is {'lower' if is_lower else 'higher'} than {test.b}"
    first, second = (test.a, test.b) if is_lower == (metric.direction == "lower") else (test.b, test.a)
    return f"{first} is better than {second}"


def _p(value: float) -> str:
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"
