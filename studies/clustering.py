"""Study "clustering": a run's programs, clustered by behaviour and by text (paper, "Algorithm Analysis")."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.analysis.difference import Agreement, agreement
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, DISTANCE, Column, Table
from behavesim.reports.figures import draw_tree, new_figure, write_figure

# Largest number of pairs shown: those on which the two metrics disagree most.
SHOWN = 10


@dataclass(frozen=True)
class ClusteringStudy:
    """A run's programs, compared by BehaveSim and by another metric."""

    run: str
    """The run's name."""
    found: Agreement
    """The programs, and their similarities by both metrics."""

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{run, candidates, behavesim, METRIC, disagreements}`.

        `behavesim` and the other metric, under its own name, are N × N lists of similarities of the N candidates.
        `disagreements` has at most SHOWN pairs, those with the most different ranks first.
        """
        found = self.found
        pairs = [
            {"candidates": [pair.a, pair.b], "behavesim": pair.behaviour, found.metric: pair.source}
            for pair in found.disagreements()[:SHOWN]
        ]
        matrices = {"behavesim": found.behaviour.tolist(), found.metric: found.source.tolist()}
        return {"run": self.run, "candidates": list(found.candidates), **matrices, "disagreements": pairs}

    def tables(self) -> tuple[Table, ...]:
        """Return one table: the pairs on which the metrics disagree most, at most SHOWN."""
        metric, programs = self.found.metric, len(self.found.candidates)
        columns = (
            Column("candidate", COUNT),
            Column("and", COUNT),
            Column("BehaveSim", DISTANCE),
            Column(metric, DISTANCE),
        )
        title = f"{self.run}: where behaviour and {metric} disagree most, among {programs} programs"
        rows = ((pair.a, pair.b, pair.behaviour, pair.source) for pair in self.found.disagreements()[:SHOWN])
        return (Table("disagreements", title, columns, tuple(rows), keys=2),)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the dendrograms of both metrics into clustering.pdf and clustering.svg; return the two paths.

        Makes the folder if it is missing; raises UsageError if matplotlib is not installed or the files cannot be
        written.
        """
        figure = new_figure(7.0, 5.2)
        labels = [str(candidate) for candidate in self.found.candidates]
        matrices = (("BehaveSim", self.found.behaviour), (self.found.metric, self.found.source))
        for axes, (name, matrix) in zip(figure.subplots(1, 2), matrices, strict=True):
            draw_tree(axes, matrix, labels)
            axes.set_title(name, fontsize=10)
        return write_figure(figure, folder, "clustering")


def study(run: Run, metric: str) -> ClusteringStudy:
    """Compare up to thirty programs of the run's groups by BehaveSim and by a metric of source code.

    Of more programs thirty are drawn with the run's seed. `metric` is one of `code_similarity.metric.NAMES`.

    Raises UsageError if there are fewer than two, if the metric's package is missing or cannot read a program, or if
    the run's task cannot be loaded. Raises KeyError for another metric, PartError if the task's code raises. Raises
    JournalError if the journal cannot be read, TrajectoryError if BehaveSim fails.
    """
    return ClusteringStudy(run.folder.run, agreement(run, metric))
