"""Draw a similarity matrix as a heat map, ordered by a dendrogram with average linkage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from behavesim.base.errors import UsageError
from behavesim.reports.drawing import check_matplotlib, new_figure
from behavesim.similarity.clustering import tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
"""Endings of the files that a heat map can be written to."""
MOST_WITH_NUMBERS = 15
"""Largest number of programs for which the cells show their numbers: smaller cells have no room for them."""


def check_figure(path: Path) -> None:
    """Raise UsageError if a figure cannot be written to `path`.

    That is so without matplotlib, without the path's folder, and for a file name that does not end in one of FORMATS.
    """
    check_matplotlib()
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"a figure is a file ending in {', '.join(FORMATS)}; got {path}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.absolute().parent} for the figure")


def heatmap(labels: Sequence[str], similarities: ArrayLike, title: str) -> Figure:
    """Return the heat map of an (N, N) symmetric similarity matrix, N ≥ 2, with its dendrogram above.

    Rows and columns are in the order of the dendrogram, whose heights are distances, 1 − similarity. `labels` are in
    the order of the matrix. Raises UsageError if matplotlib is not installed.
    """
    matrix = np.asarray(similarities, np.float64)
    drawing, height = dendrogram_of(matrix)
    order = drawing["leaves"]
    # In inches: the cells' side, and room for the longest label, which stands below and at the left of them.
    side = min(9.0, max(3.0, 0.6 * len(order)))
    margin = min(2.5, 0.8 + 0.075 * max(map(len, labels)))
    figure = new_figure(side + margin + 0.9, side + margin + 1.7, dpi=160)
    above, below = figure.subplots(2, 1, height_ratios=(1.2, side + margin))
    for across, up in zip(drawing["icoord"], drawing["dcoord"], strict=True):
        above.plot(across, up, color="0.25")
    _set_scale(above, len(order), height)
    above.set_title(title, fontsize=11)
    _draw_cells(below, matrix[np.ix_(order, order)], [labels[k] for k in order])
    return figure


def dendrogram_of(similarities: NDArray[np.float64]) -> tuple[dict[str, Any], float]:
    """Return the dendrogram of an (N, N) similarity matrix, N ≥ 2, and the height of its root.

    The dendrogram is the dict of scipy's `dendrogram`, joined by average linkage on 1 − similarity; leaf k of the
    drawing is at 10 k + 5.
    """
    from scipy.cluster.hierarchy import dendrogram

    joined = tree(1.0 - similarities)
    return dendrogram(joined, no_plot=True), float(joined[-1, 2])


def _set_scale(axes: Axes, size: int, height: float) -> None:
    """Set the axes of a dendrogram with `size` leaves and its root at `height`."""
    axes.set_xlim(0, 10 * size)
    axes.set_xticks([])
    top = 1.05 * max(height, 0.01)
    axes.set_ylim(-0.02 * top, top)  # a limit of 0 would hide half of the line between copies, at 0
    axes.set_ylabel("distance", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _draw_cells(axes: Axes, matrix: NDArray[np.float64], labels: Sequence[str]) -> None:
    """Draw the cells of an (N, N) matrix of similarities, with N labels and a colour scale.

    Each cell shows its number if N is at most MOST_WITH_NUMBERS.
    """
    size = len(matrix)
    size_of_text = max(2.0, min(8.0, 9.0 * 72 / (1.3 * size)))  # in points: lines of text fill at most nine inches
    # The dendrogram puts leaf k at 10 k + 5: in its coordinates both share an axis.
    extent = (0.0, 10.0 * size, 10.0 * size, 0.0)
    image = axes.imshow(matrix, cmap="viridis", vmin=min(0.0, matrix.min()), vmax=1.0, extent=extent, aspect="auto")
    axes.set_xticks(10 * np.arange(size) + 5, labels, rotation=90, fontsize=size_of_text)
    axes.set_yticks(10 * np.arange(size) + 5, labels, fontsize=size_of_text)
    axes.tick_params(length=0)
    colours = axes.figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, aspect=30)
    colours.set_label("similarity", fontsize=8)
    colours.ax.tick_params(labelsize=7)
    if size <= MOST_WITH_NUMBERS:
        for (row, column), value in np.ndenumerate(matrix):
            colour = "black" if value > 0.6 else "white"  # above 0.6 viridis is light
            where = (10 * column + 5, 10 * row + 5)
            axes.text(*where, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=7)
