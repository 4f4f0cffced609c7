"""Study "results": methods compared by the numbers kept of each run, without the runs; its figure."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from behavesim.analysis.comparison import GroupTest, Pairs, Values, group_tests
from behavesim.analysis.metrics import BY_NAME, METRICS
from behavesim.analysis.statistics import FEWEST, estimate, sample
from behavesim.analysis.table import COUNT, FRACTION, PROBABILITY, Column, Estimate, Table
from behavesim.base.errors import UsageError
from behavesim.reports.comparison_sections import PAIRS, describe_tests

from .figures import COLOURS, new_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The figure of the study of results: the gap of the best program, by task and group.


# The gaps of the best programs of the runs, as fractions, by the task and the label of the group.
Gaps = Mapping[str, Mapping[str, Sequence[float]]]


def draw(gaps: Gaps, folder: Path) -> list[Path]:
    """Draw the gaps into results.pdf and results.svg; return the paths.

    Makes the folder if it is missing. Raises UsageError if no gap is known, if matplotlib is not installed or if the
    files cannot be written.
    """
    if not gaps:
        raise UsageError("no figure is drawn: it shows the gap of each run's best program, and none of these is known")
    return write_figure(draw_results(gaps), folder, "results")


def draw_results(gaps: Gaps) -> Figure:
    """Return the figure: a panel for each task, a row for each group with its mean and 95 % confidence interval.

    There must be a task. Raises UsageError if matplotlib is not installed.
    """
    groups = list(dict.fromkeys(group for of in gaps.values() for group in of))
    figure = new_figure(2.0 + 1.7 * len(gaps), 0.9 + 0.22 * len(groups))
    panels = figure.subplots(1, len(gaps), sharey=True, squeeze=False)[0]
    for axes, (task, of) in zip(panels, gaps.items(), strict=True):
        _draw_task(axes, of, groups)
        axes.set_title(task, fontsize=8)
    panels[0].set_yticks(range(len(groups)), groups)
    panels[0].set_ylim(len(groups) - 0.5, -0.5)
    figure.supxlabel("gap of the best program, % (mean over seeds, 95 % confidence interval)", size=8)
    return figure


def _draw_task(axes: Axes, gaps: Mapping[str, Sequence[float]], groups: Sequence[str]) -> None:
    """Draw the means and intervals of a task's groups; a group without a known gap has no mark."""
    for group, values in gaps.items():
        found = sample(values)
        mean = FRACTION.factor * found.mean
        # groups with fewer than FEWEST runs have no interval
        reach = [[0.0 if end is None else abs(FRACTION.factor * end - mean)] for end in (found.low, found.high)]
        axes.errorbar(mean, groups.index(group), xerr=reach, fmt="o", color=COLOURS[0], markersize=4, linewidth=1)
    axes.tick_params(labelsize=7)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


# Metrics that can be the primary one of a task: the figure and the tests decided in advance are about the best gap.
PRIMARY = ("best_gap", "best_score")
# Columns that a file of kept runs must have, besides those of metrics; `report --csv` writes them into runs.csv.
NEEDED = ("task", "group", "seed")


@dataclass(frozen=True)
class KeptNumbers:
    """The numbers kept of a run; `values` has the known ones of METRICS by their names, `group` is a label."""

    task: str
    group: str
    seed: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class ResultsStudy:
    """The kept runs, and the tests between their groups by task, corrected for all tests of a metric on all tasks."""

    runs: tuple[KeptNumbers, ...]
    tests: Mapping[str, tuple[GroupTest, ...]]

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{runs, tests}`; `tests` lists those of each task by its name."""
        tests = {task: [asdict(test) for test in found] for task, found in self.tests.items()}
        return {"runs": [asdict(run) for run in self.runs], "tests": tests}

    def tables(self) -> tuple[Table, ...]:
        """Return for each task a table of its groups for each subject of metrics, and one of tests; no empty ones."""
        return tuple(table for task in self.tests for table in (*self._groups(task), self._tests(task)) if table.rows)

    def draw(self, folder: Path) -> list[Path]:
        """Write results.pdf and results.svg, the gap of the best program by task and group; return the paths.

        Raises UsageError if no gap is known, if matplotlib is not installed or if the files cannot be written.
        """
        by_task = {task: values_by_group(self.runs, task) for task in self.tests}
        known = {
            task: {group: [value for _, value in of["best_gap"]] for group, of in groups.items() if "best_gap" in of}
            for task, groups in by_task.items()
        }
        return draw({task: gaps for task, gaps in known.items() if gaps}, folder)

    def _groups(self, task: str) -> list[Table]:
        """Return the tables of a task's groups: on search instances, on held-out ones, and on behaviour."""
        # A table's caption names the groups that it lacks, as no value is known of them.
        by_group = values_by_group(self.runs, task).items()
        found = {
            label: {name: sample([value for _, value in values]) for name, values in of.items()}
            for label, of in by_group
        }
        known = {name for samples in found.values() for name in samples}
        tables = []
        for about in ("search", "held-out", "behaviour"):
            shown = [metric for metric in METRICS if metric.about == about and metric.is_shown(known)]
            columns = Column("group"), Column("runs", COUNT), *(metric.column for metric in shown)
            counts = {label: sum((run.task, run.group) == (task, label) for run in self.runs) for label in found}
            rows = tuple(
                (label, counts[label], *(estimate(samples.get(metric.name)) for metric in shown))
                for label, samples in found.items()
                if any(metric.name in samples for metric in shown)
            )
            caption = f"mean ± standard deviation [95 % confidence interval of the mean, shown from {FEWEST} runs]"
            if lacking := [label for label in found if label not in {row[0] for row in rows}]:
                caption += f"; no value is known of {', '.join(lacking)}"
            tables.append(Table(f"{task}_{about}", f"{task}: {about}", columns, rows, caption))
        return tables

    def _tests(self, task: str) -> Table:
        """Return the table of a task's tests, without those by metrics that no table shows."""
        columns = (
            *(Column(name) for name in ("metric", "a", "b")),
            Column("difference", title="difference (a − b)"),
            Column("p", PROBABILITY),
            Column("p_holm", PROBABILITY, title="p-value (Holm)"),
            PAIRS,
        )

        def difference(test: GroupTest) -> Estimate:
            return Estimate(test.difference, None, test.low, test.high, unit=BY_NAME[test.metric].unit)

        tests = [test for test in self.tests[task] if BY_NAME[test.metric].about is not None]
        rows = tuple(
            (BY_NAME[test.metric].title, test.a, test.b, difference(test), test.p, test.p_holm, test.pairs)
            for test in tests
        )
        marked = frozenset(place for place, test in enumerate(tests) if test.is_significant)
        return Table(
            f"{task}_tests", f"{task}: differences", columns, rows, describe_tests(tests, BY_NAME), marked=marked
        )


def study(path: Path, pairs: Pairs | None) -> ResultsStudy:
    """Compare the runs kept in a CSV file, such as the runs.csv of `report --csv`.

    `pairs` are the labels of the groups to test, None for all pairs. Raises UsageError if the file cannot be read or
    has no value of a metric. It is also raised if a run lacks a task, group or seed, or if its seed or a metric's value
    is no number.
    """
    runs = _read(path)
    if not any(run.values for run in runs):
        raise UsageError(
            f"{path} has no value of a metric; name the runs.csv that `behavesim report RUN… --csv DIR` writes"
        )
    tasks = dict.fromkeys(run.task for run in runs)
    return ResultsStudy(
        runs, group_tests({task: values_by_group(runs, task) for task in tasks}, pairs, METRICS, PRIMARY)
    )


def values_by_group(runs: Sequence[KeptNumbers], task: str) -> dict[str, dict[str, Values]]:
    """Return the known values of the runs on a task with their seeds, by the group's label and the metric's name."""
    found: dict[str, dict[str, list[tuple[int | None, float]]]] = {}
    for run in runs:
        if run.task == task:
            of = found.setdefault(run.group, {})
            for name, value in run.values.items():
                of.setdefault(name, []).append((run.seed, value))
    return {group: {**of} for group, of in found.items()}


def _filled(row: Mapping[str, str | None], name: str) -> str:
    """Return a cell of a row; raises KeyError if its column is missing, ValueError if it is empty."""
    if not (text := row[name]):
        raise ValueError(f"a run has no {name}")
    return text


def _read(path: Path) -> tuple[KeptNumbers, ...]:
    """Return the runs in a CSV file; raises UsageError as `study` says."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        return tuple(
            KeptNumbers(
                _filled(row, "task"),
                _filled(row, "group"),
                int(row["seed"]),
                {metric.name: float(row[metric.name]) for metric in METRICS if row.get(metric.name)},
            )
            for row in rows
        )
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; name the runs.csv of a report") from None
    except (KeyError, TypeError, ValueError, csv.Error) as error:  # TypeError: a row that ends before the seed
        raise UsageError(
            f"{path} is no file of runs ({error}): it needs the columns {', '.join(NEEDED)} and those of metrics, as "
            "the runs.csv that `behavesim report RUN… --csv DIR` writes has them"
        ) from None
