"""The metrics that tasks and evaluators report of programs besides the score, as columns of tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.table import COUNT, SCORE, Column, Table
from behavesim.task import Metrics

if TYPE_CHECKING:
    import pandas

    from behavesim.analysis.run import Run


TOKENS = ("prompt", "completion")
"""Kinds of tokens that a data frame has a column for, as the view `candidates` of a journal does."""


class Told(Protocol):
    """A program with its number and its metrics."""

    @property
    def candidate(self) -> int:
        """Its number, -1 for the template."""
        ...

    @property
    def metrics(self) -> Metrics:
        """Its metrics by name, empty if it has none."""
        ...


def metric_names(programs: Iterable[Told]) -> list[str]:
    """Return the names of all metrics of these programs, each once, in the order of their first appearance."""
    return list(dict.fromkeys(name for each in programs for name in each.metrics))


def in_files(name: str) -> str:
    """Return the name of a metric's column in files, "metrics.NAME", so that it equals no other column's name."""
    return f"metrics.{name}"


def frame(run: Run, template: Candidate | None = None) -> pandas.DataFrame:
    """Return the candidates of a run as a data frame, as `Run.to_pandas` does, the template first unless it is None.

    Raises ImportError without pandas, JournalError if the journal cannot be read.
    """
    import pandas

    from behavesim.analysis.records import Record, records  # a run's records need the module of runs

    first = [] if template is None else [Record(**vars(template), gap=run.gap(template.score))]
    shown = [*first, *records(run)]
    size = max((len(each.scores) for each in (*shown, *filter(None, [run.template]))), default=0)
    instances = [f"score.{place}" for place in range(1, size + 1)]
    tokens = [f"{kind}_tokens" for kind in TOKENS]
    columns = [field.name for field in fields(Candidate) if field.name not in ("metrics", "scores")]
    columns.insert(columns.index("score") + 1, "gap")
    columns += [*tokens, *instances, *map(in_files, metric_names(shown))]
    rows = [
        vars(each)
        | {name: each.tokens.get(kind) for name, kind in zip(tokens, TOKENS, strict=True)}
        | dict(zip(instances, each.scores, strict=False))
        | {in_files(name): value for name, value in each.metrics.items()}
        for each in shown
    ]
    return pandas.DataFrame(rows, columns=columns).set_index("candidate")


def labelled_matrix(matrix: NDArray[np.float64], candidates: Sequence[int]) -> pandas.DataFrame:
    """Return an (N, N) matrix as a data frame whose rows and columns are named by N candidates.

    Raises ImportError without pandas.
    """
    import pandas

    names = pandas.Index(candidates, name="candidate")
    return pandas.DataFrame(matrix, index=names, columns=names)


def metrics_table(programs: Sequence[Told]) -> Table:
    """Return a table with a row for each program, in the given order, and a column for each metric.

    The cell of a metric that a program does not have is None. There are no rows if no program has metrics.
    """
    names = metric_names(programs)
    columns = Column("rank", COUNT), Column("candidate", COUNT), *(Column(in_files(n), SCORE, title=n) for n in names)
    rows = tuple(
        (rank, each.candidate, *(each.metrics.get(name) for name in names)) for rank, each in enumerate(programs, 1)
    )
    return Table("metrics", "metrics of the ten best behaviours", columns, rows if names else (), keys=2)
