"""Many runs laid out as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from behavesim.analysis.scored import Scored
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Column, Table


def runs_table(summaries: Sequence[Summary]) -> Table:
    """A line for each run."""
    columns = (
        Column("run", is_whole=True),
        Column("state"),
        Column("task"),
        Column("method"),
        Column("seed", COUNT),
        Column("asked", COUNT),
        Column("best", SCORE),
        Column("gap", FRACTION),
    )
    rows = (
        (each.run, each.state, task_name(each.task), each.method, each.seed, each.asked, *_score_and_gap(each.best))
        for each in summaries
    )
    return Table("list", "", columns, tuple(rows))


def _score_and_gap(best: Scored | None) -> tuple[float | None, float | None]:
    return (None, None) if best is None else (best.score, best.gap)


def task_name(task: str) -> str:
    """The task's name; that of its file where it is one of a person's own."""
    return Path(task).stem if task.endswith(".py") else task
