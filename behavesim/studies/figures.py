"""What the figures of the studies share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from behavesim.errors import UsageError
from behavesim.reports.heatmap import dendrogram_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def written(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as NAME.pdf and NAME.svg, with its fonts in them; raises UsageError where it cannot."""
    from matplotlib import rc_context

    files = [folder / f"{name}.{kind}" for kind in ("pdf", "svg")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context({"pdf.fonttype": 42, "svg.hashsalt": name}):
            for file in files:
                figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else {"CreationDate": None})
    except OSError as error:
        raise UsageError(f"cannot write figures into {folder}: {error.strerror}") from None
    return files


def draw_tree(axes: Axes, similarities: NDArray[np.float64], labels: Sequence[str]) -> None:
    """Draw the dendrogram of an (N, N) symmetric matrix, by average linkage on 1 - similarity, its root to the left."""
    drawing, height = dendrogram_of(similarities)
    for across, up in zip(drawing["icoord"], drawing["dcoord"], strict=True):
        axes.plot(up, across, color="0.25", linewidth=1)
    axes.set_yticks(10 * np.arange(len(labels)) + 5, [labels[leaf] for leaf in drawing["leaves"]], fontsize=6)
    axes.set_xlim(1.05 * max(height, 0.01), -0.01)
    axes.tick_params(labelsize=7)
    axes.yaxis.tick_right()
    axes.spines[["top", "right", "left"]].set_visible(False)
