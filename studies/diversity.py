"""Study "diversity": distances of programs inside islands and between them, over time (paper, "Analysis of …")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.analysis.convergence import SAMPLE, DiversityAt, diversity_over_time
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, DISTANCE, RATIO, Cell, Column, Table
from behavesim.reports.figures import column_figure, draw_diversity, write_figure


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


def study(runs: Sequence[Run]) -> DiversityStudy:
    """Compute the diversity of each run.

    Raises UsageError if a task cannot be loaded, PartError if its code raises, JournalError if a journal cannot be
    read, TrajectoryError if the measure fails.
    """
    return DiversityStudy(tuple((run.folder.run, diversity_over_time(run, SAMPLE)) for run in runs))
