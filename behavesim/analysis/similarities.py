"""Similarities of several programs, by behaviour or by source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from behavesim.analysis.table import DISTANCE, Column, Table
from behavesim.code_similarity.named import of_source, source_matrix
from behavesim.similarity import BehaveSim
from behavesim.trajectory import AlgorithmRun

Matrix = tuple[tuple[float, ...], ...]
"""Rows of an (N, N) matrix of similarities."""


@dataclass(frozen=True)
class ProgramSimilarities:
    """The (N, N) similarities of N programs over all instances, and in `per_instance` on each instance alone.

    `labels` name the programs, in the order of the rows. For behaviour, `metric` is BehaveSim's setting `measure`, such
    as "dtw", and `settings` has normaliser, truncate, skip and clip. For source, `metric` is the metric's name, and
    `settings` and `per_instance` are empty.
    """

    labels: tuple[str, ...]
    matrix: Matrix
    metric: str
    settings: Mapping[str, float | str] = field(default_factory=dict)
    per_instance: tuple[Matrix, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        """Return the matrix over all instances as a table, then that of each instance if there are several."""
        alone = ((f"instance {number}", matrix) for number, matrix in enumerate(self.per_instance, 1))
        every = (
            ("all instances" if self.per_instance else "similarity", self.matrix),
            *(alone if len(self.per_instance) > 1 else ()),
        )
        columns = (Column("program", title=""), *(Column(str(k), DISTANCE) for k in range(1, len(self.labels) + 1)))
        names = [f"{number} {label}" for number, label in enumerate(self.labels, 1)]
        return tuple(
            Table(title, title, columns, tuple((name, *row) for name, row in zip(names, matrix, strict=True)))
            for title, matrix in every
        )


def similarities(
    labels: Sequence[str], behaviours: Sequence[tuple[AlgorithmRun, ...]], measure: BehaveSim
) -> ProgramSimilarities:
    """Return the similarities by behaviour of at least one program; each has a trajectory or samples per instance.

    Raises TrajectoryError if the behaviours cannot be compared or the measure fails.
    """
    settings = {name: getattr(measure, name) for name in ("normaliser", "truncate", "skip", "clip")}
    matrix, per_instance = measure.matrix(behaviours), measure.per_instance(behaviours)
    return ProgramSimilarities(
        tuple(labels), _frozen(matrix.tolist()), measure.measure, settings, tuple(map(_frozen, per_instance.tolist()))
    )


def similarities_of_source(programs: Sequence[tuple[str, str]], metric: str) -> ProgramSimilarities:
    """Return the similarities of at least one program, each a label and a source, by the named source metric.

    Raises UsageError if the metric's package is not installed, or if it needs Python and a program is not Python;
    KeyError for an unknown metric.
    """
    labels, sources = zip(*programs, strict=True)
    return ProgramSimilarities(labels, _frozen(source_matrix(of_source(metric, sources), sources).tolist()), metric)


def _frozen(matrix: Sequence[Sequence[float]]) -> Matrix:
    return tuple(map(tuple, matrix))
