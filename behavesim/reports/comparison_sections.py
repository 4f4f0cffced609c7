"""The sections of a comparison of several runs, and the tables that they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from behavesim.analysis.behaviours import SharedMap, map_groups
from behavesim.analysis.comparison import (
    PRIMARY,
    GroupResult,
    GroupTest,
    RecommendationTest,
    RunComparison,
    TaskComparison,
    verdicts,
)
from behavesim.analysis.groups import Ranks
from behavesim.analysis.metrics import About, Metric
from behavesim.analysis.provenance import provenance_of
from behavesim.analysis.report import UNMEASURED, try_or_note
from behavesim.analysis.statistics import FEWEST
from behavesim.analysis.table import (
    COUNT,
    DISTANCE,
    POINTS,
    PROBABILITY,
    PROGRAMS,
    RATIO,
    SCORE_AND_GAP,
    WRITTEN,
    Cell,
    Column,
    Estimate,
    Table,
    cells_of,
)
from behavesim.base.text import short_name
from behavesim.reports import curves, maps
from behavesim.reports.chart import Chart
from behavesim.reports.next_steps import next_steps_of_several
from behavesim.reports.sections import Section, kept_share, list_commands, table_section, without_empty
from behavesim.reports.tables import runs_table
from behavesim.store.folder import RunFolder

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


@dataclass(frozen=True)
class SeveralRuns:
    """A comparison as its sections see it."""

    found: RunComparison
    is_full: bool = True

    @cached_property
    def tasks(self) -> list[tuple[TaskComparison, str]]:
        """Each task, with what follows a title to name it; "" if there is one."""
        names = [f" on {name}" for name in family_names(self.found.tasks)]
        return list(zip(self.found.tasks, names if len(names) > 1 else [""] * len(names), strict=True))

    @cached_property
    def maps(self) -> list[SharedMap]:
        """The map of each task's groups; empty if behaviours cannot be compared."""
        return [self._map(task) for task in self.found.tasks]

    def _map(self, task: TaskComparison) -> SharedMap:
        groups = [[report.run for report in group.runs] for group in self.found.groups_of(task)]
        return try_or_note(lambda: map_groups(groups), SharedMap((), None, 0.0, ((),) * len(groups)), UNMEASURED)[0]


def _matrix(of: SeveralRuns) -> Section:
    """A row for each task and a column for each group: the mean of the task's primary metric."""
    labels = list(dict.fromkeys(group.label for task, _ in of.tasks for group in task.groups))
    rows: list[tuple[Cell, ...]] = []
    best: set[tuple[int, int]] = set()
    for task, name in of.tasks:
        metric = _metric(of.found, task)
        known = {} if metric is None else {each.label: each.metrics.get(metric.name) for each in task.groups}
        means = {label: sample.mean for label, sample in known.items() if sample is not None}
        if metric is None or not means:
            continue
        better = _better_end(of.found, task, metric)
        leader = better(means, key=lambda label: means[label])
        pairs = [{test.a, test.b} for test in task.tests]
        common = set.intersection(*pairs) if pairs else set[str]()
        base = common.pop() if len(common) == 1 else leader  # the one group that all tests are against, if any
        told = [{test.a, test.b} for test in task.tests if test.is_significant and base in (test.a, test.b)]
        differ = set[str]().union(*told) - {base}
        cells = (f"{metric.unit.text(means.get(label))}{'†' * (label in differ)}" or None for label in labels)
        if len(set(means.values())) > 1:  # the only mean, or one of equals, is not the best
            best |= {(len(rows), 2 + labels.index(label)) for label in means if means[label] == means[leader]}
        rows.append((name.removeprefix(" on "), metric.column.heading, *cells))
    columns = (Column("task"), Column("by"), *(Column(label, WRITTEN) for label in labels))
    said = "Significantly different from the best, or from the one group of all tests (primary test, after Holm)"
    caption = f"{BOLD}. † {said}."
    table = Table("matrix", "tasks and groups", columns, tuple(rows), caption, best=frozenset(best), keys=2)
    return table_section("matrix", table) if len(of.tasks) > 1 else Section("matrix", "")


def _better_end(found: RunComparison, task: TaskComparison, metric: Metric) -> Callable[..., str]:
    """Return what finds a task's best group, `max` or `min`."""
    if metric.direction != "task":
        return max if metric.direction == "higher" else min
    first = found.groups_of(task)[0].runs[0].run
    return max if first.state.objective.direction == "maximise" else min


def _metric(found: RunComparison, task: TaskComparison) -> Metric | None:
    """Return the metric by which a task's groups are shown: that of its primary tests, if it has any."""
    # without a test it is the first of PRIMARY that a run has a value of
    runs = [run for group in found.groups_of(task) for run in group.runs]
    known = {each.name: each for each in found.metrics if any(run.metrics[each.name] is not None for run in runs)}
    tested = (test.metric for test in task.tests if test.is_primary)
    return next((known[name] for name in (*tested, *PRIMARY) if name in known), None)


def _tables_named(name: str, of: SeveralRuns) -> Section:
    tables = tuple(table for table in comparison_tables(of.found) if table.name == name)
    shown = (curves.ranks_chart(of.found.ranks),) if name == "ranks" and of.found.ranks is not None else ()
    return Section(name, tables[0].title if len(tables) == 1 else name.replace("_", " "), "", tables, shown)


def _about(on: str, chart: Chart) -> Chart:
    """Return a chart whose title begins with the task's name; `on` is as in `SeveralRuns.tasks`."""
    return replace(chart, title=f"{on.removeprefix(' on ')}: {chart.title}") if on else chart


def _curves(of: SeveralRuns) -> Section:
    shown = []
    for place, (task, on) in enumerate(of.tasks):
        if (chart := curves_chart(of.found, task, f"curves_{place}")) is not None:
            shown.append(_about(on, chart))
    note = (
        "The mean over the seeds of a group, with the 95 % confidence interval of the mean as a band; "
        f"a group with fewer than {FEWEST} seeds has none. A dotted line is the template."
    )
    return Section("curves", "the best so far", note, charts=tuple(shown))


def curves_chart(
    found: RunComparison, task: TaskComparison, name: str = "convergence", axis: str | None = None
) -> Chart | None:
    """Return the mean best of each group of a task over the candidates, or over `axis` of ACROSS; None without any."""
    groups = found.groups_of(task)
    summaries = [run.summary for group in groups for run in group.runs]
    template = next((each.template for each in summaries if each.template), None)
    by_gap = all(group.has_gaps for group in groups)
    worth = None if template is None else template.gap if by_gap else template.score
    return curves.groups_chart(name, groups, worth, summaries[0].unit, axis)


def _dots(of: SeveralRuns) -> Section:
    shown = []
    for place, (task, name) in enumerate(of.tasks):
        if (metric := _metric(of.found, task)) is None:
            continue
        runs = [(group.label, run) for group in of.found.groups_of(task) for run in group.runs]
        values = [(label, run.summary.run, run.summary.seed, run.metrics[metric.name]) for label, run in runs]
        known = [(label, run, seed, value) for label, run, seed, value in values if value is not None]
        shown.append(curves.dots_chart(f"dots_{place}", f"{metric.column.heading}{name}", metric.unit, known))
    return Section("dots", "every run", "A dot is a run, a bar the mean of its group.", charts=tuple(shown))


def _shared_map(of: SeveralRuns) -> Section:
    shown, shares, first = [], [], 0
    for place, ((task, on), found) in enumerate(zip(of.tasks, of.maps, strict=True)):
        if len(found.programs) > 2:
            labels = [group.label for group in task.groups]
            shown.append(_about(on, maps.shared_map_chart(f"map_{place}", found, labels, first)))
            shares.append(f"{on.removeprefix(' on ')}: {kept_share(found.kept)}" if on else kept_share(found.kept))
        first += len(found.programs)
    about = "The best behaviours of all groups, an equal share of each; near points behave alike."
    note = f"{about} {' '.join(shares)} A ring is around the best of each group."
    return Section("map", "behaviours", note, charts=tuple(shown))


def _alone(of: SeveralRuns) -> Section:
    far = Column("elsewhere", DISTANCE, title="distance to other groups")
    columns = (Column("program", PROGRAMS), *SCORE_AND_GAP, far)
    tables = []
    for (task, name), found in zip(of.tasks, of.maps, strict=True):
        for group, places in zip(task.groups, found.alone, strict=True):
            own = [found.programs[place] for place in places]
            rows = tuple((f"{each.run} {each.candidate}", each.score, each.gap, each.elsewhere) for each in own)
            caption = f"no program of another group is nearer than {found.far:.3f}"
            tables.append(Table("alone", f"by {group.label}{name}", columns, rows, caption))
    return Section("alone", "found by one group alone", tables=tuple(each for each in tables if each.rows))


def _making_of_all(of: SeveralRuns) -> Section:
    lines = []
    for each in of.found.runs:
        made, why = try_or_note(partial(provenance_of, each.run), None, "unknown")
        lines += [f"# {each.summary.run}", *(why if made is None else made.commands)]
    return Section("making", "how the runs were made", text="\n".join(lines), language="sh")


def _next_of_several(of: SeveralRuns) -> Section:
    names = [RunFolder(run.origin.folder).argument for run in of.found.runs]
    return Section("next", "", text=list_commands(next_steps_of_several(names, of.is_full)), language="sh")


# The sections of a comparison, in the order in which views show them.
COMPARISON: Mapping[str, Callable[[SeveralRuns], Section]] = {
    "matrix": _matrix,
    "verdicts": lambda of: Section("verdicts", "what the tests say", text="\n".join(verdict_lines(of.found))),
    "curves": _curves,
    "dots": _dots,
    "map": _shared_map,
    "alone": _alone,
    **{name: partial(_tables_named, name) for name in ("groups_search", "groups_held-out", "groups_behaviour")},
    **{name: partial(_tables_named, name) for name in ("tests", "over_time", "recommended_vs_best", "ranks")},
    "runs": lambda of: Section("runs", "", tables=(runs_table([run.summary for run in of.found.runs]),)),
    "making": _making_of_all,
    "next": _next_of_several,
}
# Sections of a comparison on its first screen, and those that only a page shows.
FIRST_SECTIONS = ("matrix", "groups_search", "groups_held-out", "verdicts", "tests", "ranks", "runs", "next")
ON_PAGES = ("curves", "dots", "map", "alone", "making")


def comparison_sections(found: RunComparison, names: Iterable[str] = (), is_full: bool = True) -> Iterator[Section]:
    """Yield the sections of a comparison that say something: those named, or all that terminals and papers show."""
    shown, chosen = SeveralRuns(found, is_full), set(names) or COMPARISON.keys() - set(ON_PAGES)
    return without_empty(find(shown) for name, find in COMPARISON.items() if name in chosen)


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
