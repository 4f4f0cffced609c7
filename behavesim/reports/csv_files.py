"""Write reports as CSV files: numbers are not rounded, fractions are not in per cent, unknown values are empty."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from behavesim.analysis.comparison import RunComparison, TaskComparison
from behavesim.analysis.report import RunReport
from behavesim.analysis.table import Table
from behavesim.base.errors import UsageError

Row = Mapping[str, Any]
"""A row of a file: its values by the names of their columns."""


def write_csv(comparison: RunComparison, folder: Path) -> list[str]:
    """Write each table that has rows as NAME.csv into the folder, and return the names of the files written.

    The folder is made if missing. Files of an earlier report stay, but convergence, diversity, joins, groups,
    groups_over_time, tests and choice are removed if they have no rows now. Raises UsageError if the folder cannot be
    written, or if a metric has the name of a column of runs.csv.
    """
    labels = {run.summary.run: group.label for group in comparison.groups for run in group.runs}
    return _write_all(_of_runs(comparison.runs, labels) | _of_tasks(comparison.tasks), folder)


def write_tables(tables: Sequence[Table], folder: Path) -> list[str]:
    """Write each table that has rows as NAME.csv into the folder, made if missing; return the names of these files.

    The file of a table without rows is deleted. Raises UsageError if the folder cannot be written.
    """
    return _write_all({table.name: _rows(table) for table in tables}, folder)


def _rows(table: Table) -> list[Row]:
    """Return the rows of a table, their cells by the names of the columns."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def _of_runs(runs: Sequence[RunReport], labels: Mapping[str, str]) -> dict[str, list[Row]]:
    """Return rows by table name: `runs` has a row for each run, with the label of its group by the run's name.

    A run that is in no group has no label. Rows of other tables begin with the run's name and say who computed its
    scores.
    """
    found: dict[str, list[Row]] = {"runs": [{**_run(run), "group": labels.get(run.summary.run)} for run in runs]}
    for run in runs:
        of = {"run": run.summary.run, "score_source": run.summary.score_source}
        found.setdefault("convergence", []).extend({**of, **asdict(then)} for then in run.convergence)
        for table in (*run.tables(), *run.series()):
            found.setdefault(table.name, []).extend({**of, **row} for row in _rows(table))
    return found


def _run(run: RunReport) -> Row:
    """Return the row of a run in runs.csv; raises UsageError if a metric has the name of another column."""
    summary = asdict(run.summary)
    best, recommended = summary.pop("best") or {}, summary.pop("recommended") or {}
    del summary["best_program"]  # it is the best candidate or the template, which have columns
    template, used, estimated = summary.pop("template") or {}, summary.pop("tokens"), summary.pop("estimated") or {}
    row = {
        **summary,
        # texts and sums in place of the values of the same names, which are lists and mappings
        "advice": "; ".join(advice.words for advice in run.summary.advice),
        "rejected": run.summary.rejections,
        "template_score": template.get("score"),
        "best_candidate": best.get("candidate"),
        **{f"recommended_{name}": recommended.get(name) for name in ("candidate", "score", "validation_score")},
        **{f"distinct_{name}": count for name, count in asdict(run.distinct).items()},
        **{f"{kind}_tokens": count for kind, count in used.items()},
        **{f"estimated_{kind}_tokens": estimated.get(kind) for kind in ("prompt", "completion")},
        "estimated_replies": estimated.get("estimated"),
        "estimated_cost_usd": estimated.get("cost_usd"),
    }
    # `top10_gap` is a value of the summary and a metric, which are the same.
    if taken := run.metrics.keys() & row.keys() - {"top10_gap"}:
        raise UsageError(f"runs.csv has a column {min(taken)!r} already; give the metric another name")
    return {**row, **run.metrics}


def _of_tasks(tasks: Sequence[TaskComparison]) -> dict[str, list[Row]]:
    """Return rows by table name: groups, groups over time, tests and choices of all tasks."""
    rows: dict[str, list[Row]] = {"groups": [], "groups_over_time": [], "tests": [], "choice": []}
    for entry in tasks:
        on = {"task": entry.task, "instances": entry.instances, "score_source": entry.score_source}
        rows["tests"] += (
            {**on, "metric": test.metric, "a": test.a, "b": test.b, **asdict(test)} for test in entry.tests
        )
        rows["choice"] += ({**on, "metric": choice.metric, **asdict(choice)} for choice in entry.choice)
        for group in entry.groups:
            of = {**on, "group": group.label}
            rows["groups_over_time"] += ({**of, **asdict(then)} for then in group.diversity_over_time)
            for metric, sample in group.metrics.items():
                values = asdict(sample)
                rows["groups"].append({**of, "metric": metric, "runs": len(values.pop("values")), **values})
    return rows


def _write_all(tables: Mapping[str, list[Row]], folder: Path) -> list[str]:
    """Write each table, given by its name, into the folder, and return the names of the files with rows.

    Raises UsageError if that fails.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in tables.items():
            _write(folder / f"{name}.csv", rows)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; choose another --csv folder") from None
    return [f"{name}.csv" for name, rows in tables.items() if rows]


def _write(path: Path, rows: list[Row]) -> None:
    """Write rows as CSV, with a column for each name that one of them has; without rows delete the file."""
    if not rows:
        path.unlink(missing_ok=True)
        return
    with path.open("w", newline="", encoding="utf-8") as file:  # the csv module writes line ends itself
        # runs of several tasks have several metrics: a row's other columns are empty
        writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)
