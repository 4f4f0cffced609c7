"""The table of `behavesim tasks --sizes`: what a candidate takes on each task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from behavesim.analysis.table import FRACTION, SCORE, SECONDS, Column, Table
from behavesim.application.launch import task_settings
from behavesim.base.errors import TaskError
from behavesim.reports.terminal import show
from behavesim.task.verdict import Verdict

from .output import print_result, tell
from .trial import tried


def show_sizes(names: Sequence[str], as_json: bool) -> None:
    """Run the templates of the tasks `names` on the search's instances; print sizes, CPU seconds and scores."""
    found = [_timed(name) for name in names]
    print_result(found, as_json, list, lambda found: show([_table(found)]))


def _timed(name: str) -> dict[str, Any]:
    """Return a row of the table, by column: the size of a task, and its template's score, gap and CPU seconds.

    Score and gap are None if the template fails, and all three if the task cannot run here.
    """
    settings, task = task_settings(name, {"allow_weak_isolation": True})
    known = {"task": name, "size": task.search_size, "best_known": task.objective.best_known}
    try:
        (found,) = tried(settings, task, [(f"the template of {name}", task.template)], "search")
    except TaskError as error:  # a task may need a package that is not installed
        tell(str(error))
        return {**known, "score": None, "gap": None, "seconds": None}
    score = found.verdict.score if isinstance(found.verdict, Verdict) else None
    gap = None if score is None else task.objective.gap(score)
    return {**known, "score": score, "gap": gap, "seconds": found.verdict.cpu_s}


def _table(found: list[dict[str, Any]]) -> Table:
    """Return the table of what `_timed` returned for each task."""
    columns = (
        *(Column("task"), Column("size", title="search instances"), Column("seconds", SECONDS)),
        *(Column("best_known", SCORE, title="best known"), Column("score", SCORE, title="template")),
        Column("gap", FRACTION),
    )
    rows = tuple(tuple(each[column.name] for column in columns) for each in found)
    return Table("sizes", "CPU seconds of each task's template, on all search instances", columns, rows)
