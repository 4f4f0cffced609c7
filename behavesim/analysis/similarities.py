"""Similarities of several programs by behaviour and by source, and how far both agree (paper, "Algorithm Analysis")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.run import Run
from behavesim.analysis.table import DISTANCE, Column, Table
from behavesim.base.errors import UsageError
from behavesim.base.syntax import parsed
from behavesim.code_similarity.named import of_source, source_matrix
from behavesim.code_similarity.optional import missing
from behavesim.similarity import BehaveSim
from behavesim.trajectory import AlgorithmRun

PROGRAMS = 30
"""Largest number of programs compared: as many as the two dendrograms can label legibly."""
AST_CHARACTERS = 30_000
"""Largest total length of sources, in characters, whose syntax trees are compared when the user named no metric.

Up to it the comparison takes seconds; its time grows at least with the square of a program's length.
"""
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

    `labels` name the programs in tables. Raises TrajectoryError if the behaviours cannot be compared or the measure
    fails.
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


@dataclass(frozen=True)
class Pair:
    """Two candidates, with their similarity by BehaveSim and by a metric of their source; 1 means equal in both."""

    a: int
    b: int
    behaviour: float
    source: float


@dataclass(frozen=True)
class Agreement:
    """Similarities of N candidates of a run, twice: (N, N) by BehaveSim and (N, N) by the source metric `metric`."""

    candidates: tuple[int, ...]
    behaviour: NDArray[np.float64]
    source: NDArray[np.float64]
    metric: str

    def disagreements(self) -> list[Pair]:
        """Return all pairs of candidates, those on which the two similarities disagree most first.

        All pairs are ranked by each similarity, and sorted by the absolute difference of their two ranks.
        """
        from scipy.stats import rankdata  # scipy.stats takes half a second to load

        rows, columns = np.triu_indices(len(self.candidates), 1)
        behaviour, source = self.behaviour[rows, columns], self.source[rows, columns]
        order = np.argsort(-np.abs(rankdata(behaviour) - rankdata(source)), kind="stable")
        return [
            Pair(self.candidates[rows[k]], self.candidates[columns[k]], float(behaviour[k]), float(source[k]))
            for k in order
        ]


def agreement(run: Run, metric: str | None = None) -> Agreement:
    """Compare the candidates that are in a group now; of more than thirty, thirty drawn with the run's seed.

    `metric` names the source metric, one of `code_similarity.named.NAMES`. None chooses one: CodeBLEU as in the paper
    if it is installed; otherwise `ast`; `rouge` if the sources are too long for syntax trees or are not Python. Raises
    UsageError if the groups hold fewer than two candidates, the metric's package is not installed, or the task cannot
    be loaded. A metric of syntax trees raises it too for a program that is not Python. Raises KeyError for an unknown
    metric, PartError if the task's code raises, JournalError if the journal cannot be read, TrajectoryError if the
    measure fails.
    """
    members = held_candidates(run)
    if len(members) < 2:
        raise UsageError(f"run {run.folder.run} holds {len(members)} programs; clustering takes two or more")
    # drawn with a fixed seed, so that every report of the run compares the same programs
    chosen = np.random.default_rng([run.settings.seed, PROGRAMS]).permutation(members)[:PROGRAMS]
    candidates = tuple(sorted(chosen.tolist()))  # in order of numbers, as the page lists them
    sources = [run.candidate(candidate).source or "" for candidate in candidates]
    name = _affordable(sources) if metric is None else metric
    similar = source_matrix(of_source(name, sources), sources)
    return Agreement(candidates, run.matrix(candidates), similar, name)


def held_candidates(run: Run) -> list[int]:
    """Return the numbers of all candidates that are in a group now, ascending, without the template."""
    return sorted({member for group in run.state.groups.values() for member in group.members if member >= 0})


def _affordable(sources: list[str]) -> str:
    """Return the metric used if the user named none: "codebleu" if installed, "rouge" if "ast" is too slow or fails."""
    if not missing("codebleu", None):
        return "codebleu"
    return "ast" if sum(map(len, sources)) <= AST_CHARACTERS and all(map(_is_python, sources)) else "rouge"


def _is_python(source: str) -> bool:
    """Return whether a source can be parsed as Python."""
    try:
        parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a null byte; nested too deep
        return False
    return True
