"""Study "measures": four ways to compare trajectories, on eight optimisers (paper, appendix "Choice of …")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.table import RATIO, Cell, Column, Table
from behavesim.reports.figures import write_figure
from behavesim.similarity import BehaveSim
from behavesim.similarity.settings import Measure
from behavesim.studies.optimisers import OPTIMISERS, OPTIMUM, Iterates, Point, starts
from behavesim.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES: tuple[Measure, ...] = get_args(Measure)
LENGTH = 50
"""Number of states to which every trajectory is resampled: at very unequal lengths only DTW is meaningful."""

Similarities = NDArray[np.float64]
"""Shape (measures, pairs of optimisers)."""


@dataclass(frozen=True)
class MeasuresStudy:
    """The similarity of each pair of optimisers by each measure, averaged over starts."""

    pairs: tuple[tuple[str, str], ...]
    similarities: Similarities

    def correlations(self) -> dict[str, dict[tuple[str, str], float]]:
        """Kendall's tau and Spearman's rho between each two measures, over all pairs of optimisers."""
        from scipy.stats import kendalltau, spearmanr

        return {
            name: {
                (MEASURES[a], MEASURES[b]): float(test(self.similarities[a], self.similarities[b]).statistic)
                for a, b in combinations(range(len(MEASURES)), 2)
            }
            for name, test in (("kendall", kendalltau), ("spearman", spearmanr))
        }

    def nearest(self, optimiser: str, measure: Measure) -> str:
        """Return the name of the optimiser that is most similar to this one by a measure."""
        row = self.similarities[MEASURES.index(measure)]
        own = [(row[place], *pair) for place, pair in enumerate(self.pairs) if optimiser in pair]
        _, a, b = max(own)
        return b if a == optimiser else a

    def document(self) -> dict[str, Any]:
        """`{measures, pairs, correlations, nearest_to_cg}`."""
        rows = [
            {"pair": list(pair), **dict(zip(MEASURES, self.similarities[:, place].tolist(), strict=True))}
            for place, pair in enumerate(self.pairs)
        ]
        correlations = {
            name: [{"measures": list(pair), "value": value} for pair, value in values.items()]
            for name, values in self.correlations().items()
        }
        nearest = {measure: self.nearest("CG", measure) for measure in MEASURES}
        return {"measures": list(MEASURES), "pairs": rows, "correlations": correlations, "nearest_to_cg": nearest}

    def tables(self) -> tuple[Table, ...]:
        """Two tables: the correlations, and the similarity of each pair."""
        columns = (Column("pair"), *(Column(measure, RATIO) for measure in MEASURES))
        rows: list[tuple[Cell, ...]] = [
            (f"{a}, {b}", *self.similarities[:, place].tolist()) for place, (a, b) in enumerate(self.pairs)
        ]
        caption = "Nearest to CG: " + ", ".join(f"{self.nearest('CG', m)} ({m})" for m in MEASURES) + "."
        return self._correlations(), Table("pairs", "similarity of optimisers", columns, tuple(rows), caption)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the correlations and the optimisers' paths from the first start; returns the paths of the files."""
        from matplotlib.figure import Figure

        correlations = Figure(figsize=(7.0, 3.4), layout="constrained")
        for axes, (name, values) in zip(correlations.subplots(1, 2), self.correlations().items(), strict=True):
            matrix = np.eye(len(MEASURES))
            for (a, b), value in values.items():
                i, j = MEASURES.index(a), MEASURES.index(b)
                matrix[i, j] = matrix[j, i] = value
            axes.imshow(matrix, vmin=0, vmax=1, cmap="viridis")
            axes.set_xticks(range(len(MEASURES)), MEASURES)
            axes.set_yticks(range(len(MEASURES)), MEASURES)
            axes.set_title(name.capitalize(), fontsize=10)
            for (i, j), value in np.ndenumerate(matrix):
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", color="black" if value > 0.6 else "white")
        return [*write_figure(correlations, folder, "correlations"), *write_figure(_ways(), folder, "rosenbrock")]

    def _correlations(self) -> Table:
        found = self.correlations()
        columns = (Column("measures"), Column("Kendall's tau", RATIO), Column("Spearman's rho", RATIO))
        rows = tuple((f"{a}, {b}", found["kendall"][a, b], found["spearman"][a, b]) for a, b in found["kendall"])
        caption = "The paper: mean, dtw and erp correlate highly with one another, and cosine comparatively little."
        return Table("correlations", "rank correlations of measures", columns, rows, caption)


def compared() -> Iterator[Similarities]:
    """Yield the similarities at each start."""
    return map(_at, starts())


def study(rows: Iterable[Similarities]) -> MeasuresStudy:
    """Average the similarities over starts."""
    return MeasuresStudy(tuple(combinations(OPTIMISERS, 2)), np.mean(list(rows), axis=0))


def thinned(iterates: Iterates) -> Iterates:
    """Return LENGTH states at equal steps in time, first and last included; short paths repeat states."""
    return np.asarray(iterates[np.linspace(0, len(iterates) - 1, LENGTH).round().astype(int)])


def _at(start: Point) -> Similarities:
    paths = {name: thinned(run(start)) for name, run in OPTIMISERS.items()}
    greatest = _greatest_distance(paths)
    trajectories = {name: Trajectory.vectors(path) for name, path in paths.items()}
    by = [BehaveSim(greatest, measure, clip=False, gap=OPTIMUM) for measure in MEASURES]
    pairs = [(trajectories[a], trajectories[b]) for a, b in combinations(OPTIMISERS, 2)]
    return np.array([[measure.similarity(x, y) for x, y in pairs] for measure in by])


def _greatest_distance(paths: Mapping[str, Iterates]) -> float:
    """Return the largest distance between any two states from this start, or between a state and the gap state.

    The box of starts is no bound: optimisers leave it.
    """
    states = np.concatenate([*paths.values(), [OPTIMUM]])
    return float(np.linalg.norm(states[:, None] - states[None], axis=2).max())


def _ways() -> Figure:
    """Draw every optimiser's path from the first start, over the function's contours."""
    from matplotlib.figure import Figure
    from scipy.optimize import rosen

    x, y = np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-1.5, 3, 200))
    figure = Figure(figsize=(7.0, 3.8), layout="constrained")
    for axes, (name, run) in zip(figure.subplots(2, 4).flat, OPTIMISERS.items(), strict=True):
        axes.contour(x, y, np.log1p(rosen(np.stack([x, y]))), 12, colors="0.8", linewidths=0.6)
        axes.plot(*run(starts()[0]).T, "-", color="C0", linewidth=1)
        axes.plot(*starts()[0], "s", color="0.2", markersize=4)
        axes.plot(*OPTIMUM, "*", color="C3", markersize=8)
        axes.set_title(name, fontsize=9)
        axes.set(xticks=[], yticks=[], xlim=(-2, 2), ylim=(-1.5, 3))
    return figure
