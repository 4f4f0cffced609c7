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
from behavesim.reports.drawing import new_figure
from behavesim.reports.figures import write_figure
from behavesim.similarity import BehaveSim
from behavesim.similarity.settings import Measure
from behavesim.studies.optimisers import OPTIMISERS, OPTIMUM, Iterates, Point, starts
from behavesim.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES: tuple[Measure, ...] = get_args(Measure)
"""The names of all trajectory measures that BehaveSim has."""
EACH_TWO = tuple(combinations(range(len(MEASURES)), 2))
"""All pairs of two measures, as indices (i, j) into MEASURES with i < j."""
LENGTH = 50
"""Number of states to which every trajectory is resampled: at very unequal lengths only DTW is meaningful."""

Similarities = NDArray[np.float64]
"""Shape (measures, pairs of optimisers)."""


@dataclass(frozen=True)
class MeasuresStudy:
    """The similarity of each pair of optimisers by each measure, averaged over starts."""

    pairs: tuple[tuple[str, str], ...]
    """The names of the two optimisers of each pair."""
    similarities: Similarities
    """In the order of MEASURES and of `pairs`."""

    def correlations(self) -> dict[str, NDArray[np.float64]]:
        """Return Kendall's tau (`kendall`) and Spearman's rho (`spearman`) of each two measures.

        Both have shape (measures, measures), in the order of MEASURES; they correlate the similarities of all pairs of
        optimisers.
        """
        from scipy.stats import kendalltau, spearmanr

        return {
            name: np.array([[test(a, b).statistic for b in self.similarities] for a in self.similarities])
            for name, test in (("kendall", kendalltau), ("spearman", spearmanr))
        }

    def nearest(self, optimiser: str, measure: Measure) -> str:
        """Return the optimiser most similar to this one by a measure; raises ValueError for unknown names."""
        row = self.similarities[MEASURES.index(measure)]
        own = [(row[place], *pair) for place, pair in enumerate(self.pairs) if optimiser in pair]
        _, a, b = max(own)
        return b if a == optimiser else a

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{measures, pairs, correlations, nearest_to_cg}`.

        Each of `pairs` has its similarity by each measure. `correlations` has under `kendall` and `spearman` a list of
        `{measures: [a, b], value}`, one for each two measures. `nearest_to_cg` has by measure the name of the optimiser
        most similar to CG.
        """
        rows = [
            {"pair": list(pair), **dict(zip(MEASURES, self.similarities[:, place].tolist(), strict=True))}
            for place, pair in enumerate(self.pairs)
        ]
        correlations = {
            name: [{"measures": [MEASURES[i], MEASURES[j]], "value": float(matrix[i, j])} for i, j in EACH_TWO]
            for name, matrix in self.correlations().items()
        }
        nearest = {measure: self.nearest("CG", measure) for measure in MEASURES}
        return {"measures": list(MEASURES), "pairs": rows, "correlations": correlations, "nearest_to_cg": nearest}

    def tables(self) -> tuple[Table, ...]:
        """Return two tables: the correlations of measures, and the similarity of each pair of optimisers."""
        columns = (Column("pair"), *(Column(measure, RATIO) for measure in MEASURES))
        rows: list[tuple[Cell, ...]] = [
            (f"{a}, {b}", *self.similarities[:, place].tolist()) for place, (a, b) in enumerate(self.pairs)
        ]
        caption = "Nearest to CG: " + ", ".join(f"{self.nearest('CG', m)} ({m})" for m in MEASURES) + "."
        return self._correlations(), Table("pairs", "similarity of optimisers", columns, tuple(rows), caption)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the correlations and the optimisers' ways from the first start.

        Writes correlations and rosenbrock as .pdf and .svg into the folder, which is made if missing, and returns the
        four paths. Raises UsageError if matplotlib is not installed or they cannot be written.
        """
        correlations = new_figure(7.0, 3.4)
        for axes, (name, matrix) in zip(correlations.subplots(1, 2), self.correlations().items(), strict=True):
            axes.imshow(matrix, vmin=0, vmax=1, cmap="viridis")
            axes.set_xticks(range(len(MEASURES)), MEASURES)
            axes.set_yticks(range(len(MEASURES)), MEASURES)
            axes.set_title(name.capitalize(), fontsize=10)
            for (i, j), value in np.ndenumerate(matrix):  # black on the bright end of the colours
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", color="black" if value > 0.6 else "white")
        return [*write_figure(correlations, folder, "correlations"), *write_figure(_ways(), folder, "rosenbrock")]

    def _correlations(self) -> Table:
        kendall, spearman = self.correlations().values()
        columns = (Column("measures"), Column("Kendall's tau", RATIO), Column("Spearman's rho", RATIO))
        rows = tuple(
            (f"{MEASURES[i]}, {MEASURES[j]}", float(kendall[i, j]), float(spearman[i, j])) for i, j in EACH_TWO
        )
        caption = "The paper: mean, dtw and erp correlate highly with one another, and cosine comparatively little."
        return Table("correlations", "rank correlations of measures", columns, rows, caption)


def compared() -> Iterator[Similarities]:
    """Yield, for each of the ten starts, the unclipped similarities of all pairs of optimisers by each measure."""
    return map(_at, starts())


def study(rows: Iterable[Similarities]) -> MeasuresStudy:
    """Return the mean of the similarities over the starts; `rows` are what `compared` yields, at least one."""
    return MeasuresStudy(tuple(combinations(OPTIMISERS, 2)), np.mean(list(rows), axis=0))


def thinned(iterates: Iterates) -> Iterates:
    """Return LENGTH of the iterates, at evenly spaced indices with first and last; if there are fewer, some repeat."""
    return np.asarray(iterates[np.linspace(0, len(iterates) - 1, LENGTH).round().astype(int)])


def _at(start: Point) -> Similarities:
    paths = {name: thinned(run(start)) for name, run in OPTIMISERS.items()}
    greatest = _greatest_distance(paths)
    trajectories = {name: Trajectory.vectors(path) for name, path in paths.items()}
    # Unclipped: at 0 the rank correlations would take different pairs for equal.
    by = [BehaveSim(greatest, measure, clip=False, gap=OPTIMUM) for measure in MEASURES]
    pairs = [(trajectories[a], trajectories[b]) for a, b in combinations(OPTIMISERS, 2)]
    return np.array([[measure.similarity(x, y) for x, y in pairs] for measure in by])


def _greatest_distance(paths: Mapping[str, Iterates]) -> float:
    """Return the largest distance between any two states of all paths, or between a state and OPTIMUM.

    The box of starts is no bound: optimisers leave it.
    """
    states = np.concatenate([*paths.values(), [OPTIMUM]])
    return float(np.linalg.norm(states[:, None] - states[None], axis=2).max())


def _ways() -> Figure:
    from scipy.optimize import rosen

    x, y = np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-1.5, 3, 200))
    figure = new_figure(7.0, 3.8)
    for axes, (name, run) in zip(figure.subplots(2, 4).flat, OPTIMISERS.items(), strict=True):
        axes.contour(x, y, np.log1p(rosen(np.stack([x, y]))), 12, colors="0.8", linewidths=0.6)
        axes.plot(*run(starts()[0]).T, "-", color="C0", linewidth=1)
        axes.plot(*starts()[0], "s", color="0.2", markersize=4)
        axes.plot(*OPTIMUM, "*", color="C3", markersize=8)
        axes.set_title(name, fontsize=9)
        axes.set(xticks=[], yticks=[], xlim=(-2, 2), ylim=(-1.5, 3))
    return figure
