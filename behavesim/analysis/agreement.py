"""Whether programs that behave alike also look alike (paper, "Algorithm Analysis")."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.code_similarity.named import of_source, source_matrix
from behavesim.code_similarity.optional import missing

PROGRAMS = 30
CHARACTERS = 30_000
"""Of so many in all, syntax trees are compared in seconds; the edits grow with the square of a program, and faster."""


@dataclass(frozen=True)
class Pair:
    """Two candidates with their similarity by BehaveSim and by a metric of their source, both in [0, 1]."""

    a: int
    b: int
    behaviour: float
    source: float


@dataclass(frozen=True)
class Agreement:
    """(N, N) similarities of N candidates of a run, by BehaveSim and by a metric of their source."""

    candidates: tuple[int, ...]
    behaviour: NDArray[np.float64]
    source: NDArray[np.float64]
    metric: str

    def disagreements(self) -> list[Pair]:
        """All pairs, the one first whose ranks by the two similarities are farthest apart."""
        from scipy.stats import rankdata  # scipy.stats takes half a second to load

        rows, columns = np.triu_indices(len(self.candidates), 1)
        behaviour, source = self.behaviour[rows, columns], self.source[rows, columns]
        order = np.argsort(-np.abs(rankdata(behaviour) - rankdata(source)), kind="stable")
        return [
            Pair(self.candidates[rows[k]], self.candidates[columns[k]], float(behaviour[k]), float(source[k]))
            for k in order
        ]


def agreement(run: Run, metric: str | None = None) -> Agreement:
    """At most thirty programs, drawn by the run's seed from those that its groups hold at the end.

    Where no metric is named, it is CodeBLEU, as in the paper, if that is installed; else that of syntax trees, or ROUGE
    where the programs are too long for it, or no Python. Raises UsageError where they are fewer than two, or the metric
    cannot be computed.
    """
    members = held(run)
    if len(members) < 2:
        raise UsageError(f"run {run.folder.run} holds {len(members)} programs; clustering takes two or more")
    chosen = np.random.default_rng([run.settings.seed, PROGRAMS]).permutation(members)[:PROGRAMS]
    candidates = tuple(sorted(chosen.tolist()))
    sources = [run.candidate(candidate).source or "" for candidate in candidates]
    name = _affordable(sources) if metric is None else metric
    similar = source_matrix(of_source(name, sources), sources)
    return Agreement(candidates, run.matrix(candidates), similar, name)


def held(run: Run) -> list[int]:
    """The candidates that the run's groups hold, in the order of their numbers."""
    return sorted({member for group in run.state.groups.values() for member in group.members if member >= 0})


def _affordable(sources: list[str]) -> str:
    if not missing("codebleu", None):
        return "codebleu"
    return "ast" if sum(map(len, sources)) <= CHARACTERS and all(map(_is_python, sources)) else "rouge"


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a null byte; nested too deep
        return False
    return True
