"""Study "clustering": programs of a run by what they do and by what they look like (paper, "Algorithm Analysis")."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, DISTANCE, Column, Table
from behavesim.code_similarity.named import of_source, source_matrix
from behavesim.errors import UsageError
from behavesim.studies.figures import draw_tree, written

PROGRAMS = 30
SHOWN = 10
"""Pairs on which the two metrics disagree most."""


@dataclass(frozen=True)
class ClusteringStudy:
    """(N, N) similarities of N candidates of a run, by BehaveSim and by a metric of their source."""

    run: str
    candidates: tuple[int, ...]
    behaviour: NDArray[np.float64]
    source: NDArray[np.float64]
    metric: str

    def disagreements(self) -> list[tuple[int, int, float, float]]:
        """Pairs of candidates with both similarities, the one whose ranks are farthest apart first."""
        from scipy.stats import rankdata

        rows, columns = np.triu_indices(len(self.candidates), 1)
        behaviour, source = self.behaviour[rows, columns], self.source[rows, columns]
        order = np.argsort(-np.abs(rankdata(behaviour) - rankdata(source)), kind="stable")
        return [
            (self.candidates[rows[k]], self.candidates[columns[k]], float(behaviour[k]), float(source[k]))
            for k in order
        ]

    def document(self) -> dict[str, Any]:
        """`{run, candidates, behavesim, METRIC, disagreements}`."""
        pairs = [
            {"candidates": [a, b], "behavesim": behaviour, self.metric: source}
            for a, b, behaviour, source in self.disagreements()[:SHOWN]
        ]
        matrices = {"behavesim": self.behaviour.tolist(), self.metric: self.source.tolist()}
        return {"run": self.run, "candidates": list(self.candidates), **matrices, "disagreements": pairs}

    def tables(self) -> tuple[Table, ...]:
        """The pairs on which the metrics disagree most."""
        columns = (
            Column("candidate", COUNT),
            Column("and", COUNT),
            Column("BehaveSim", DISTANCE),
            Column(self.metric, DISTANCE),
        )
        title = f"{self.run}: where behaviour and {self.metric} disagree most, among {len(self.candidates)} programs"
        return (Table("disagreements", title, columns, tuple(self.disagreements()[:SHOWN]), keys=2),)

    def draw(self, folder: Path) -> list[Path]:
        """Write both dendrograms side by side as clustering.pdf and .svg; the files that were written."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.0, 5.2), layout="constrained")
        labels = [str(candidate) for candidate in self.candidates]
        for axes, (name, matrix) in zip(
            figure.subplots(1, 2), (("BehaveSim", self.behaviour), (self.metric, self.source)), strict=True
        ):
            draw_tree(axes, matrix, labels)
            axes.set_title(name, fontsize=10)
            axes.set_xlabel("distance", fontsize=8)
        return written(figure, folder, "clustering")


def study(run: Run, metric: str) -> ClusteringStudy:
    """At most thirty programs, drawn by the run's seed from those that its groups hold at the end.

    Raises UsageError where they are fewer than two, or the metric cannot be computed.
    """
    members = sorted({member for group in run.state.groups.values() for member in group.members if member >= 0})
    if len(members) < 2:
        raise UsageError(f"run {run.folder.run} holds {len(members)} programs; clustering takes two or more")
    chosen = np.random.default_rng([run.settings.seed, PROGRAMS]).permutation(members)[:PROGRAMS]
    candidates = tuple(sorted(chosen.tolist()))
    by_number = {candidate.candidate: candidate.source or "" for candidate in run.candidates}
    sources = [by_number[candidate] for candidate in candidates]
    similar = source_matrix(of_source(metric, sources), sources)
    return ClusteringStudy(run.folder.run, candidates, run.matrix(candidates), similar, metric)
