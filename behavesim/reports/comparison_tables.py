"""Lay out the comparison of several runs as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from behavesim.analysis.comparison import (
    GroupResult,
    GroupTest,
    RecommendationTest,
    RunComparison,
    TaskComparison,
    verdicts,
)
from behavesim.analysis.groups import Ranks
from behavesim.analysis.metrics import About, Metric
from behavesim.analysis.statistics import FEWEST
from behavesim.analysis.table import (
    COUNT,
    POINTS,
    PROBABILITY,
    RATIO,
    WRITTEN,
    Cell,
    Column,
    Estimate,
    Table,
    cells_of,
)
from behavesim.base.text import short_name

# End of a task's name if an evaluator in the sandbox, where programs could change it, computed the scores.
SELF_REPORTED = " (scores self-reported)"
# End of the title of each table of groups, by what its metrics are about; each task has one such table per entry.
TITLES: Mapping[About, str] = {
    "search": "what was found",
    "held-out": "the same on held-out instances",
    "behaviour": "diversity of behaviour",
}
# What the metrics of the search's best are about.
BEST = '"Best" excludes the template'
# What bold numbers of groups are. A test is between two groups, so it could not say which single one to highlight.
BOLD = "Bold: best mean (not necessarily significant)"
# Column of the labels of groups of runs, first in every table of groups.
GROUP = Column("group")
# Columns of a test's p-value: as it is, and corrected for the number of tests.
P_VALUES = (Column("p", PROBABILITY), Column("p_holm", PROBABILITY, title="p-value (Holm)"))
# Column of the number of seeds by which a test is paired; empty for a test of independent groups.
PAIRS = Column("pairs", COUNT, title="pairs")
# Columns of the table of recommended programs: how many runs have which outcome, and the number of seeds.
CHOICES = tuple(Column(name, COUNT) for name in ("runs", "better", "equal", "worse", "unknown", "seeds"))


def comparison_tables(found: RunComparison) -> list[Table]:
    """Return the tables of a comparison, task after task, and last the groups' mean ranks over all tasks.

    Each task has one table per entry of TITLES, then the tests between groups, the distances between islands over time,
    and the recommended programs beside the best of the search. Tables without rows are left out.
    """
    metrics = {metric.name: metric for metric in found.metrics}
    tables = []
    for entry, on in zip(found.tasks, family_names(found.tasks), strict=True):
        tables += [_groups(entry, about, found.metrics, on) for about in TITLES]
        tables += [_tests(entry, metrics, on, found.untested), _over_time(entry, on), _choices(entry, metrics, on)]
    sources = {entry.score_source for entry in found.tasks}
    tables += [] if found.ranks is None else [_ranks(found.ranks, metrics[found.ranks.metric], len(sources) > 1)]
    return [table for table in tables if table.rows]


def family_names(tasks: Sequence[TaskComparison]) -> list[str]:
    """Return a distinct name for each entry, in order: the task's name.

    Two task files of one name are named by their paths. If a task has several sets of instances, the beginning of the
    instances' hash follows. Names of tasks with self-reported scores end in SELF_REPORTED.
    """
    sets = Counter(entry.task for entry in tasks)
    files = Counter(map(short_name, sets))
    names = [short_name(entry.task) if files[short_name(entry.task)] == 1 else entry.task for entry in tasks]
    apart = [
        name if sets[entry.task] == 1 else f"{name} (instances {entry.instances[:8] or 'unknown'})"
        for name, entry in zip(names, tasks, strict=True)
    ]
    return [
        f"{name}{SELF_REPORTED if entry.score_source == 'self-reported' else ''}"
        for name, entry in zip(apart, tasks, strict=True)
    ]


def verdict_lines(found: RunComparison) -> list[str]:
    """Return a sentence for each verdict, after the task's name if there are several tasks."""
    names = family_names(found.tasks)
    on = {} if len(names) < 2 else {task.family: f"{name}: " for task, name in zip(found.tasks, names, strict=True)}
    return [f"{on.get(each.family, '')}{each.sentence}" for each in verdicts(found)]


def remarks(found: RunComparison) -> list[str]:
    """Return a sentence on each kind of runs that a reader could miscount; none if there are none."""
    claimed = [each.summary.run for each in found.runs if each.summary.score_source == "self-reported"]
    apart = [name for name in family_names(found.tasks) if "(instances " in name]
    said = {
        "repeats of another run with equal settings, and counted once": found.repeats,
        "unfinished, and left out of tests and ranks": found.untested,
        "on different instances, and not compared with one another": apart,
        "with self-reported scores, which nothing outside the sandbox has checked": claimed,
    }
    return [f"{what}: {', '.join(names)}" for what, names in said.items() if names]


def _ranks(found: Ranks, metric: Metric, is_mixed: bool) -> Table:
    rows = tuple(sorted(found.means.items(), key=lambda entry: entry[1]))
    test = "" if found.p is None else f"Friedman's test: p = {PROBABILITY.text(found.p)}. "
    caption = f"{test}Critical difference (Nemenyi, α = .05): {RATIO.text(found.critical)}."
    caption += " Trusted and self-reported scores are ranked together here." if is_mixed else ""
    title = f"mean rank by {metric.title}, over {found.tasks} tasks"
    return Table("ranks", title, (GROUP, Column("rank", RATIO, title="mean rank")), rows, caption)


def _groups(entry: TaskComparison, about: About, metrics: Sequence[Metric], on: str) -> Table:
    known = {name for group in entry.groups for name in group.metrics}
    shown = [metric for metric in metrics if metric.about == about and metric.is_shown(known)]
    columns = (GROUP, Column("runs", COUNT), Column("candidates", WRITTEN), *(metric.column for metric in shown))
    rows = tuple(
        (group.label, len(group.runs), _candidates_of_group(group), *(_estimate(group, metric) for metric in shown))
        for group in entry.groups
        if shown
    )
    # The metrics' columns come after three others.
    best = frozenset((row, place) for place, metric in enumerate(shown, 3) for row in _best_rows(entry.groups, metric))
    title = f"comparison on {on}: {TITLES[about]}"
    most = max(len(group.runs) for group in entry.groups)
    interval = f"[95 % confidence interval of the mean, shown from {FEWEST} runs]"
    spread = "" if most < 2 else f"Mean ± standard deviation{f' {interval}' if most >= FEWEST else ''}"
    caption = (spread, BOLD if best else "", BEST if about == "search" and shown else "")
    said = " ".join(f"{each}." for each in caption if each)
    return Table(f"groups_{about}", title, columns, rows, said, best=best)


def _candidates_of_group(group: GroupResult) -> str:
    """Return how many candidates each run of a group asked for: "100", or "29..100 of 100" if a run is unfinished."""
    least, most = group.asked
    if least == group.budget:
        return f"{group.budget}"
    return f"{least if least == most else f'{least}..{most}'} of {group.budget}"


def _best_rows(groups: Sequence[GroupResult], metric: Metric) -> list[int]:
    # The list is empty if neither lower nor higher values are better on every task, or if all groups that have a value
    # have the same.
    known = {
        place: group.metrics[metric.name].mean for place, group in enumerate(groups) if metric.name in group.metrics
    }
    if metric.direction not in ("higher", "lower") or len(set(known.values())) < 2:
        return []
    best = (max if metric.direction == "higher" else min)(known.values())
    return [place for place, mean in known.items() if mean == best]


def _estimate(group: GroupResult, metric: Metric) -> Estimate | None:
    sample = group.metrics.get(metric.name)
    if sample is None:
        return None
    count = len(sample.values)
    known = None if count == len(group.runs) else count
    return Estimate(sample.mean, sample.sd, sample.low, sample.high, known)


def _tests(entry: TaskComparison, metrics: Mapping[str, Metric], on: str, untested: Sequence[str]) -> Table:
    # `metrics` are by name; `on` is the task's name for people.
    known = {test.metric for test in entry.tests}
    shown = {name for name in known if metrics[name].about is not None and metrics[name].is_shown(known)}
    tests = [test for test in entry.tests if test.p is not None and test.metric in shown]
    columns = (
        *(Column(name) for name in ("metric", "a", "b")),
        Column("difference", RATIO, title="difference (a − b)"),
        Column("superiority", RATIO, title="P(a > b)"),
        *P_VALUES,
        PAIRS,
    )
    left_out = [name for group in entry.groups for name in group.unfinished if name in untested]
    unfinished = f" Left out, as unfinished: {', '.join(left_out)}." if left_out else ""
    caption = (
        f"{describe_tests(tests, metrics)} P(a > b): probability that a run of a has the larger value.{unfinished}"
    )
    marked = frozenset(place for place, test in enumerate(tests) if test.is_significant)
    rows = tuple(_test(test, metrics) for test in tests)
    return Table("tests", f"differences on {on}", columns, rows, caption, marked=marked).known


def describe_tests(tests: Sequence[GroupTest], metrics: Mapping[str, Metric]) -> str:
    """Return sentences on which tests these are, their intervals, and the metric on which conclusions rest."""
    paired, independent = "Wilcoxon's signed ranks of the differences within seeds", "Mann and Whitney's U"
    if all(test.pairs is not None for test in tests):
        kind = paired
    elif all(test.pairs is None for test in tests):
        kind = independent
    else:
        kind = f"{paired} where `pairs` says how many, else {independent}"
    primary = next((metrics[test.metric].title for test in tests if test.is_primary), None)
    on = "" if primary is None else f" Primary metric: {primary}; tests of the others are exploratory."
    return f"{kind}, two-sided, with the 95 % confidence interval of the same test.{on}"


def _test(test: GroupTest, metrics: Mapping[str, Metric]) -> tuple[Cell, ...]:
    column = metrics[test.metric].column
    difference = Estimate(test.difference, None, test.low, test.high, unit=column.unit)
    return column.heading, test.a, test.b, difference, test.superiority, *cells_of(test, (*P_VALUES, PAIRS))


def _over_time(entry: TaskComparison, on: str) -> Table:
    # A row is a group. The columns are 20, 40, 60, 80 and 100 % of the budget, as far as a group reached them: ten
    # columns would be too wide for a terminal. `on` names the task in the table's title.
    known = {group.label: _by_tenth(group) for group in entry.groups}
    shown = {label: by_tenth for label, by_tenth in known.items() if any(by_tenth.values())}
    tenths = sorted(set().union(*shown.values()))
    columns = (GROUP, *(Column(f"{10 * tenth} %", RATIO) for tenth in tenths))
    rows = tuple((label, *(by_tenth.get(tenth) for tenth in tenths)) for label, by_tenth in shown.items())
    title = f"distance between islands / inside them on {on}, by share of the budget"
    return Table("over_time", title, columns, rows)


def _by_tenth(group: GroupResult) -> dict[int, float | None]:
    """Return by tenth of the budget (2, 4, 6, 8, 10) the distance between a group's islands over that inside them."""
    # Tenths that its runs did not reach are missing; the ratio is None if it is unknown.
    moments = ((10 * then.registered // group.budget, then.separation) for then in group.diversity_over_time)
    return {tenth: separation for tenth, separation in moments if tenth and tenth % 2 == 0}


def _choices(entry: TaskComparison, metrics: Mapping[str, Metric], on: str) -> Table:
    # It has no rows if they were not tried. `metrics` are by name; `on` is the task's name for people.
    columns = (Column("by"), *CHOICES, Column("mean", POINTS, title="mean advantage"), *P_VALUES)
    title = f"the recommended program beside the best of the search, on held-out instances of {on}"
    caption = "Wilcoxon's signed ranks over the seeds' means, for runs of one seed begin alike"
    rows = tuple(_recommended_vs_best(test, metrics) for test in entry.recommended_vs_best)
    return Table("recommended_vs_best", title, columns, rows, caption)


def _recommended_vs_best(test: RecommendationTest, metrics: Mapping[str, Metric]) -> tuple[Cell, ...]:
    mean = Estimate(test.mean, None, test.low, test.high)
    return (metrics[test.metric].title, *cells_of(test, CHOICES), mean, *cells_of(test, P_VALUES))
