"""Collect all that the page of a comparison shows, as one value and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from behavesim.analysis.behaviours import SharedMap, map_groups
from behavesim.analysis.comparison import PRIMARY, RunComparison, TaskComparison, verdicts
from behavesim.analysis.convergence import MeanCheckpoint
from behavesim.analysis.groups import RunGroup
from behavesim.analysis.metrics import Metric
from behavesim.analysis.provenance import provenance_of
from behavesim.analysis.report import UNMEASURED, try_or_note
from behavesim.analysis.run import Run
from behavesim.analysis.statistics import FEWEST
from behavesim.analysis.table import Table
from behavesim.reports.comparison_tables import comparison_tables, family_names, remarks
from behavesim.reports.tables import runs_table


@dataclass(frozen=True)
class Dot:
    """The value of one run, whose seed it names."""

    run: str
    seed: int
    value: float


@dataclass(frozen=True)
class GroupShown:
    """A group of runs: its curve of best gaps (fractions) or scores, and a dot for each run with a value."""

    label: str
    runs: tuple[str, ...]
    curve: tuple[MeanCheckpoint, ...]
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Measured:
    """What the dots show: the title of a metric, and whether its values are fractions."""

    title: str
    is_fraction: bool


@dataclass(frozen=True)
class TaskShown:
    """One task and its instances. `by_gap` is whether curves are gaps, else they are scores in `unit`.

    Curves of groups with fewer than `fewest` runs have no band. `template` is the template's gap or score. `dots` says
    which metric the groups' dots show: the first of PRIMARY that a run has a value of.
    """

    name: str
    groups: tuple[GroupShown, ...]
    by_gap: bool
    unit: str
    template: float | None
    fewest: int
    dots: Measured | None
    verdicts: tuple[str, ...]
    map: SharedMap


@dataclass(frozen=True)
class TableShown:
    """A table as texts: headings with whether they stand over numbers, and rows of texts with whether they are bold."""

    title: str
    caption: str
    columns: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[tuple[str, bool], ...], ...]


@dataclass(frozen=True)
class MadeShown:
    """The commands that make a run again, one after the other (`Provenance.commands`), or why they are unknown."""

    run: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonDocument:
    """A comparison as its page shows it. `home` is the address of the list of runs, None if the page is a file.

    `made` says how each run can be made again. `notes` say what is left out, and why.
    """

    title: str
    home: str | None
    tasks: tuple[TaskShown, ...]
    tables: tuple[TableShown, ...]
    made: tuple[MadeShown, ...]
    notes: tuple[str, ...]

    def json(self) -> str:
        """Return the document as JSON text, with the names of its fields as keys."""
        return TypeAdapter(ComparisonDocument).dump_json(self).decode()


def comparison_document(found: RunComparison, runs: Sequence[Run], home: str | None = None) -> ComparisonDocument:
    """Return the document of a comparison of these runs; `home` is the address of a list of runs, None for none.

    Behaviours that cannot be compared are left out and named in `notes`.
    """
    by_folder = {run.folder.path: run for run in runs}
    tasks, notes = [], list(remarks(found))
    for task, name in zip(found.tasks, family_names(found.tasks), strict=True):
        shown, why = _task(found, task, name, by_folder)
        tasks.append(shown)
        notes += why
    labels = list(dict.fromkeys(group.label for group in found.groups))
    title = f"{', '.join(labels[:-1])} and {labels[-1]}" if 1 < len(labels) < 4 else f"{len(found.runs)} runs compared"
    rows = runs_table([run.summary for run in found.runs])
    tables = tuple(_table(table) for table in (*comparison_tables(found), replace(rows, title="the runs")))
    made = tuple(MadeShown(run.folder.run, _commands(run)) for run in runs)
    return ComparisonDocument(title, home, tuple(tasks), tables, made, tuple(dict.fromkeys(notes)))


def _commands(run: Run) -> tuple[str, ...]:
    made, why = try_or_note(lambda: provenance_of(run), None, "unknown")
    return why if made is None else made.commands


def _task(
    found: RunComparison, task: TaskComparison, name: str, runs: Mapping[Path, Run]
) -> tuple[TaskShown, tuple[str, ...]]:
    groups = found.groups_of(task)
    by_gap = all(group.has_gaps for group in groups)
    metric = _metric_of_dots(found, groups)
    loaded = [[runs[run.origin.folder] for run in group.runs] for group in groups]
    nothing = SharedMap((), None, 0.0, tuple(() for _ in groups))
    places, why = try_or_note(lambda: map_groups(loaded), nothing, UNMEASURED)
    template = next((run.summary.template for group in groups for run in group.runs if run.summary.template), None)
    shown = TaskShown(
        name=name,
        groups=tuple(_group(group, by_gap, metric) for group in groups),
        by_gap=by_gap,
        unit=groups[0].runs[0].summary.unit,
        template=None if template is None else template.gap if by_gap else template.score,
        fewest=FEWEST,
        dots=None if metric is None else Measured(metric.column.heading, metric.unit.symbol == "%"),
        verdicts=tuple(each.sentence for each in verdicts(found) if each.family == task.family),
        map=places,
    )
    return shown, why


def _metric_of_dots(found: RunComparison, groups: Sequence[RunGroup]) -> Metric | None:
    metrics = {metric.name: metric for metric in found.metrics}
    known = (
        name
        for name in PRIMARY
        if name in metrics and any(run.metrics[name] is not None for group in groups for run in group.runs)
    )
    name = next(known, None)
    return None if name is None else metrics[name]


def _group(group: RunGroup, by_gap: bool, metric: Metric | None) -> GroupShown:
    dots = (
        (run.summary.run, run.summary.seed, None if metric is None else run.metrics[metric.name]) for run in group.runs
    )
    return GroupShown(
        label=group.label,
        runs=tuple(run.summary.run for run in group.runs),
        curve=group.mean_convergence(by_gap),
        dots=tuple(Dot(run, seed, value) for run, seed, value in dots if value is not None),
    )


def _table(table: Table) -> TableShown:
    known = table.known
    rows = tuple(
        tuple((text, known.is_bold(row, place)) for place, text in enumerate(texts))
        for row, texts in enumerate(known.texts)
    )
    columns = tuple((column.heading, not column.is_left_aligned) for column in known.columns)
    return TableShown(known.title, known.caption, columns, rows)
