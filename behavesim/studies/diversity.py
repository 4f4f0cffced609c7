"""Study "diversity": how alike programs are inside islands and between them, over time (paper, "Analysis of …")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.analysis.diversity import SAMPLE, DiversityAt, diversity_over_time
from behavesim.analysis.run import Run
from behavesim.analysis.table import COUNT, DISTANCE, RATIO, Cell, Column, Table
from behavesim.studies.figures import written


@dataclass(frozen=True)
class DiversityStudy:
    """The diversity of each run at every tenth of its budget, on at most fifty programs an island."""

    runs: tuple[tuple[str, tuple[DiversityAt, ...]], ...]

    def document(self) -> dict[str, Any]:
        """`{runs: [{run, diversity}]}`."""
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
        """A row a run and moment."""
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
        """Write a box of the islands' inner distances and a curve between them for each run; the files written."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.0, 3.6), layout="constrained")
        axes = figure.subplots()
        width = 0.8 / len(self.runs)
        for place, (name, moments) in enumerate(self.runs):
            across = [moment + (place - (len(self.runs) - 1) / 2) * width for moment in range(len(moments))]
            boxes = [[value for value in at.intra if value is not None] for at in moments]
            drawn = axes.boxplot(boxes, positions=across, widths=0.8 * width, patch_artist=True, manage_ticks=False)
            for box in drawn["boxes"]:
                box.set(facecolor=f"C{place}", alpha=0.4)
            known = [(x, at.inter) for x, at in zip(across, moments, strict=True) if at.inter is not None]
            axes.plot(*zip(*known, strict=True), "-o", color=f"C{place}", label=name, markersize=3) if known else None
        longest = max((moments for _, moments in self.runs), key=len)
        axes.set_xticks(range(len(longest)), [str(at.registered) for at in longest])
        axes.set(xlabel="candidates", ylabel="distance (boxes inside, curves between)")
        axes.legend(fontsize=8)
        return written(figure, folder, "diversity")


def study(runs: Sequence[Run]) -> DiversityStudy:
    """The diversity of some runs."""
    return DiversityStudy(tuple((run.folder.run, diversity_over_time(run, SAMPLE)) for run in runs))
