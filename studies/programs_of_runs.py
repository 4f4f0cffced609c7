"""Studies of programs of runs: "clustering", by behaviour and by text (paper, "Algorithm Analysis"), "diversity"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.analysis.convergence import SAMPLE, DiversityAt, diversity_over_time
from behavesim.analysis.difference import Agreement, agreement
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, DISTANCE, RATIO, Cell, Column, Table
from behavesim.reports.figures import column_figure, draw_diversity, draw_tree, new_figure, write_figure

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


def clustering_study(run: Run, metric: str) -> ClusteringStudy:
    """Compare up to thirty programs of the run's groups by BehaveSim and by a metric of source code.

    Of more programs thirty are drawn with the run's seed. `metric` is one of `code_similarity.metric.NAMES`.

    Raises UsageError if there are fewer than two, if the metric's package is missing or cannot read a program, or if
    the run's task cannot be loaded. Raises KeyError for another metric, PartError if the task's code raises. Raises
    JournalError if the journal cannot be read, TrajectoryError if BehaveSim fails.
    """
    return ClusteringStudy(run.folder.run, agreement(run, metric))


# Study "diversity": distances of programs inside islands and between them, over time (paper, "Analysis of …").


@dataclass(frozen=True)
class DiversityStudy:
    """The diversity of runs after each tenth of their budget so far, on at most fifty programs per island."""

    runs: tuple[tuple[str, tuple[DiversityAt, ...]], ...]
    """Each run's name, and its diversity after each tenth of its budget that it has reached."""

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{runs: [{run, diversity: [{registered, intra, inter}]}]}`.

        `registered` counts candidates. Distances are 1 − BehaveSim: `intra` lists the mean inside each island, and
        `inter` is the mean between islands; null if unknown.
        """
        return {
            "runs": [
                {
                    "run": name,
                    "diversity": [
                        {"registered": at.registered, "intra": list(at.intra), "inter": at.inter} for at in moments
                    ],
                }
                for name, moments in self.runs
            ]
        }

    def tables(self) -> tuple[Table, ...]:
        """Return one table with a row for each run and tenth of its budget."""
        columns = (
            Column("run"),
            Column("candidates", COUNT),
            Column("inside", DISTANCE),
            Column("between", DISTANCE),
            Column("between / inside", RATIO),
        )
        rows: list[tuple[Cell, ...]] = [
            (name, at.registered, at.inside, at.inter, at.separation) for name, moments in self.runs for at in moments
        ]
        caption = "Mean distances, 1 − BehaveSim, of programs of one island, and of two."
        return (Table("diversity", "distances inside islands and between them", columns, tuple(rows), caption, keys=2),)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the distances inside islands (boxes) and between them (a curve) for each run; there must be a run.

        Writes diversity.pdf and diversity.svg into the folder, which is made if missing, and returns their paths.
        Raises UsageError if matplotlib is not installed or they cannot be written.
        """
        figure, axes = column_figure(3.6, widths=2)
        draw_diversity(axes, dict(self.runs))
        return write_figure(figure, folder, "diversity")


def diversity_study(runs: Sequence[Run]) -> DiversityStudy:
    """Compute the diversity of each run.

    Raises UsageError if a task cannot be loaded, PartError if its code raises, JournalError if a journal cannot be
    read, TrajectoryError if the measure fails.
    """
    return DiversityStudy(tuple((run.folder.run, diversity_over_time(run, SAMPLE)) for run in runs))
