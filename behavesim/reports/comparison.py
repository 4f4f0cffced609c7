"""Lay out the comparison of several runs as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from behavesim.analysis.comparison import ChoiceTest, GroupResult, GroupTest, RunComparison, TaskComparison
from behavesim.analysis.metric import About, Metric
from behavesim.analysis.ranks import Ranks
from behavesim.analysis.table import COUNT, POINTS, PROBABILITY, RATIO, WRITTEN, Column, Estimate, Table
from behavesim.reports.words import task_name

TITLES: Mapping[About, str] = {
    "search": "what was found",
    "held-out": "the same on held-out instances",
    "behaviour": "diversity of behaviour",
}


def comparison_tables(found: RunComparison) -> list[Table]:
    """Return the tables of a comparison, task after task, and last the mean ranks over all tasks.

    A task has its groups with mean ± standard deviation and 95 % interval, the tests between the groups, the distances
    between islands over time, and the recommended programs on held-out instances. A table without rows is left out.
    """
    metrics = {metric.name: metric for metric in found.metrics}
    tables = []
    for entry, on in zip(found.tasks, family_names(found.tasks), strict=True):
        made = (
            *(_groups(entry, about, found.metrics, on) for about in TITLES),
            _tests(entry, metrics, on, found.untested),
            _over_time(entry, on),
            _choices(entry, metrics, on),
        )
        tables += [table for table in made if table is not None]
    return tables if found.ranks is None else [*tables, _ranks(found.ranks, metrics[found.ranks.metric])]


def family_names(tasks: Sequence[TaskComparison]) -> list[str]:
    """Return a distinct name for each entry, in order.

    It is the task's name. Two task files of one name are named by their paths. If a task has several sets of instances,
    the first 8 characters of the instances' hash follow the name.
    """
    return [_family_name(entry, tasks) for entry in tasks]


def _family_name(entry: TaskComparison, tasks: Sequence[TaskComparison]) -> str:
    namesakes = [other for other in tasks if task_name(other.task) == task_name(entry.task)]
    name = task_name(entry.task) if len({other.task for other in namesakes}) == 1 else entry.task
    is_one_set = [other.task for other in namesakes].count(entry.task) == 1
    return name if is_one_set else f"{name} (instances {entry.instances[:8] or 'unknown'})"


def remarks(found: RunComparison) -> list[str]:
    """Return a sentence on each group of runs that a reader could miscount.

    These are repeated runs (counted once), unfinished runs (left out of tests), and tasks with several instance sets.
    """
    said = []
    if found.repeats:
        said.append(f"made twice, with equal settings and seed, and counted once: {', '.join(found.repeats)}")
    if found.untested:
        said.append(f"unfinished, and left out of tests and ranks: {', '.join(found.untested)}")
    apart = [name for name in family_names(found.tasks) if "(instances " in name]
    if apart:
        said.append(f"on different instances, and not compared with one another: {', '.join(apart)}")
    return said


def _ranks(found: Ranks, metric: Metric) -> Table:
    """Return the table of the groups' mean ranks, best first."""
    rows = tuple(sorted(found.means.items(), key=lambda entry: entry[1]))
    test = "" if found.p is None else f"Friedman's test: p = {PROBABILITY.text(found.p)}. "
    caption = f"{test}Two differ at the level of .05 if their ranks are {RATIO.text(found.critical)} apart (Nemenyi)."
    title = f"mean rank by {metric.title}, over {found.blocks} tasks and seeds"
    return Table("ranks", title, (Column("group"), Column("rank", RATIO, title="mean rank")), rows, caption)


def _groups(entry: TaskComparison, about: About, metrics: Sequence[Metric], on: str) -> Table | None:
    known = {name for group in entry.groups for name in group.metrics}
    shown = [metric for metric in metrics if metric.about == about and metric.is_shown(known)]
    if not shown:
        return None
    columns = (
        *(Column("group"), Column("runs", COUNT), Column("candidates", WRITTEN)),
        *(metric.column for metric in shown),
    )
    rows = (
        (group.label, len(group.runs), _candidates(group), *(_estimate(group, metric) for metric in shown))
        for group in entry.groups
    )
    caption = "mean ± standard deviation [95 % bootstrap interval of the mean]"
    best = frozenset((row, place) for place, metric in enumerate(shown, 3) for row in _best(entry.groups, metric))
    title = f"comparison on {on}: {TITLES[about]}"
    return Table(f"groups_{about}", title, columns, tuple(rows), caption, best=best)


def _candidates(group: GroupResult) -> str:
    """Return how many candidates each run of a group asked for: "100", or "29..100 of 100" if a run is unfinished."""
    least, most = group.asked
    if least == group.budget:
        return f"{group.budget}"
    return f"{least if least == most else f'{least}..{most}'} of {group.budget}"


def _best(groups: Sequence[GroupResult], metric: Metric) -> list[int]:
    """Return the indices of the groups with the best mean.

    The list is empty if the metric has no better direction, or if fewer than two groups have a value.
    """
    sign = {"higher": 1, "lower": -1}.get(metric.direction or "", 0)
    means = {
        place: sign * group.metrics[metric.name].mean
        for place, group in enumerate(groups)
        if metric.name in group.metrics
    }
    return [place for place, mean in means.items() if sign and len(means) > 1 and mean == max(means.values())]


def _estimate(group: GroupResult, metric: Metric) -> Estimate | None:
    sample = group.metrics.get(metric.name)
    if sample is None:
        return None
    known = len(sample.values)
    return Estimate(sample.mean, sample.sd, sample.low, sample.high, None if known == len(group.runs) else known)


def _tests(entry: TaskComparison, metrics: Mapping[str, Metric], on: str, untested: Collection[str]) -> Table | None:
    """Return the table of tests between groups, or None without tests; its caption names the runs left out."""
    known = {test.metric for test in entry.tests}
    tests = [test for test in entry.tests if test.p is not None and _is_test_shown(metrics[test.metric], known)]
    if not tests:
        return None
    columns = (
        Column("metric"),
        Column("a"),
        Column("b"),
        Column("difference", RATIO, title="mean a − mean b"),
        Column("superiority", RATIO, title="P(a > b)"),
        Column("p", PROBABILITY),
        Column("p_holm", PROBABILITY, title="p, Holm"),
    )
    title = f"differences on {on} (Mann–Whitney, two-sided; Holm over all tests of a metric)"
    left_out = [name for group in entry.groups for name in group.unfinished if name in untested]
    caption = f"Left out, as unfinished: {', '.join(left_out)}." if left_out else ""
    marked = frozenset(place for place, test in enumerate(tests) if test.stands_out)
    rows = tuple(_test(test, metrics[test.metric].column) for test in tests)
    return Table("tests", title, columns, rows, caption, marked=marked)


def _is_test_shown(metric: Metric, known: set[str]) -> bool:
    return metric.about is not None and metric.is_shown(known)


def _test(test: GroupTest, column: Column) -> tuple[str, str, str, Estimate, float | None, float | None, float | None]:
    difference = Estimate(test.difference, None, test.low, test.high, unit=column.unit)
    return column.heading, test.a, test.b, difference, test.superiority, test.p, test.p_holm


def _over_time(entry: TaskComparison, on: str) -> Table | None:
    """Return the distance between islands divided by the distance inside them, over time; None without islands.

    A row is a group, a column every second tenth of the budget: ten columns would be too wide for a terminal.
    """
    known = {group.label: _by_tenth(group) for group in entry.groups}
    shown = {label: by_tenth for label, by_tenth in known.items() if any(by_tenth.values())}
    if not shown:
        return None
    tenths = sorted(set().union(*shown.values()))
    columns = (Column("group"), *(Column(f"{10 * tenth} %", RATIO) for tenth in tenths))
    rows = tuple((label, *(by_tenth.get(tenth) for tenth in tenths)) for label, by_tenth in shown.items())
    title = f"distance between islands / inside them on {on}, by share of the budget"
    return Table("over_time", title, columns, rows)


def _by_tenth(group: GroupResult) -> dict[int, float | None]:
    """Return the separation of a group's islands by tenth of the budget: 2, 4, 6, 8 and 10, where known."""
    moments = ((10 * then.registered // group.budget, then.separation) for then in group.diversity_over_time)
    return {tenth: separation for tenth, separation in moments if tenth and tenth % 2 == 0}


def _choices(entry: TaskComparison, metrics: Mapping[str, Metric], on: str) -> Table | None:
    if not entry.choice:
        return None
    columns = (
        Column("by"),
        *(Column(name, COUNT) for name in ("runs", "better", "equal", "worse", "unknown", "seeds")),
        Column("mean", POINTS, title="mean advantage"),
        Column("p", PROBABILITY),
        Column("p_holm", PROBABILITY, title="p, Holm"),
    )
    title = f"the recommended program beside the best of the search, on held-out instances of {on}"
    caption = "Wilcoxon's signed ranks over the seeds' means, for runs of one seed begin alike"
    rows = tuple((metrics[choice.metric].title, *_choice(choice)) for choice in entry.choice)
    return Table("choice", title, columns, rows, caption)


def _choice(choice: ChoiceTest) -> tuple[int | Estimate | float | None, ...]:
    mean = Estimate(choice.mean, None, choice.low, choice.high)
    counts = (choice.runs, choice.better, choice.equal, choice.worse, choice.unknown, choice.seeds)
    return (*counts, mean, choice.p, choice.p_holm)
