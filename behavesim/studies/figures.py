"""What the figures of the studies share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def written(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as NAME.pdf and NAME.svg, with its fonts in them; raises OSError where it cannot."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.{kind}" for kind in ("pdf", "svg")]
    with rc_context({"pdf.fonttype": 42, "svg.hashsalt": name}):
        for file in files:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else {"CreationDate": None})
    return files


def draw_tree(axes: Axes, similarities: NDArray[np.float64], labels: Sequence[str]) -> None:
    """Draw the dendrogram of an (N, N) symmetric matrix, by average linkage on 1 - similarity, its root to the left."""
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    tree = linkage(squareform(np.maximum(1.0 - similarities, 0.0), checks=False), method="average")
    drawing = dendrogram(tree, no_plot=True)
    for across, up in zip(drawing["icoord"], drawing["dcoord"], strict=True):
        axes.plot(up, across, color="0.25", linewidth=1)
    axes.set_yticks(10 * np.arange(len(labels)) + 5, [labels[leaf] for leaf in drawing["leaves"]], fontsize=6)
    axes.set_xlim(1.05 * max(float(tree[-1, 2]), 0.01), -0.01)
    axes.tick_params(labelsize=7)
    axes.yaxis.tick_right()
    axes.spines[["top", "right", "left"]].set_visible(False)
