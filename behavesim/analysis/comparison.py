"""Comparison of runs: runs that differ only in their seed form a group; differences between groups are tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from behavesim.analysis.group_tests import ChoiceTest, GroupTest, Pairs, Values, choice_tests, corrected, group_tests
from behavesim.analysis.groups import Family, Ranks, RunGroup, grouped, is_finished, ranks, repeats
from behavesim.analysis.islands import DiversityAt
from behavesim.analysis.metrics import METRICS, Metric, measured
from behavesim.analysis.report import RunReport
from behavesim.analysis.statistics import Sample, mean_of_known, sample
from behavesim.base.score_source import ScoreSource
from behavesim.proposers.installed import models_asked


@dataclass(frozen=True)
class MeanDiversity:
    """Diversity after `registered` candidates, as means over the runs that have a value; None if none has.

    `intra` and `inter` are distances 1 − BehaveSim in [0, 1] inside and between islands. `separation` is the mean of
    each run's own ratio of the distance between islands to that inside.
    """

    registered: int
    intra: float | None
    inter: float | None
    separation: float | None


@dataclass(frozen=True)
class GroupResult:
    """The results of a group's runs.

    `asked` is the smallest and the largest number of candidates that a run asked for. `budget` is the first run's, or
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
    tests and ranks because they have not spent their budget. `ranks` ranks the groups by the primary metric, if all
    tasks have the same, else by their best gap. It is None without that metric, for fewer than two groups with a value,
    or if they share fewer than two tasks.
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
    `pairs` is None (`group_tests`). Tests use unfinished runs only if `tests_unfinished`. If fewer than two runs remain
    without repeats, the comparison has no groups and no tasks. Raises UsageError if a user's own metric fails.
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
        ranks=_ranks(tested, tasks, metrics),
    )


def _ranks(tested: Sequence[RunGroup], tasks: Sequence[TaskComparison], metrics: Sequence[Metric]) -> Ranks | None:
    """Return the ranks by the primary metric of all tasks, or by the best gap; None as `ranks` says."""
    primary = {test.metric for task in tasks for test in task.tests if test.is_primary}
    name = primary.pop() if len(primary) == 1 else "best_gap"
    found = (ranks(tested, metric) for metric in metrics if metric.name == name and metric.direction != "task")
    return next(found, None)


def _by_task(
    groups: Sequence[RunGroup], tested: Sequence[RunGroup], pairs: Pairs | None, metrics: Sequence[Metric]
) -> tuple[TaskComparison, ...]:
    """Return the comparison of each family: the results of all its groups, and tests between those in `tested`.

    They are between `pairs` of labels, or all pairs for None.
    """
    families = list(dict.fromkeys(group.family for group in groups))
    ours = {family: [group for group in tested if group.family == family] for family in families}
    values = {
        family: {group.label: {metric.name: _by_seed(group, metric.name) for metric in metrics} for group in groups}
        for family, groups in ours.items()
    }
    tests = group_tests(values, pairs, metrics)
    choices = corrected({family: choice_tests(ours[family]) for family in families}, lambda choice: choice.metric)
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


def _by_seed(group: RunGroup, metric: str) -> Values:
    """Return a metric's known values of the group's runs with their seeds, None for a run that asked a model."""
    return [
        (None if models_asked(run.origin.settings) else run.summary.seed, value)
        for run in group.runs
        if (value := run.metrics[metric]) is not None
    ]
