"""Lay out a list of runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.analysis.scored import Scored
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Column, Table
from behavesim.reports.words import state_in_words, task_name


def runs_table(summaries: Sequence[Summary]) -> Table:
    """Return a table with a row for each run, in order; unknown scores and gaps are None."""
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
        (
            *(each.run, state_in_words(each), task_name(each.task), each.method, each.seed, each.asked),
            *_score_and_gap(each.best),
        )
        for each in summaries
    )
    return Table("list", "", columns, tuple(rows))


def _score_and_gap(best: Scored | None) -> tuple[float | None, float | None]:
    return (None, None) if best is None else (best.score, best.gap)
