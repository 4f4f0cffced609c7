"""Figures of studies, drawn with matplotlib, which the extra `studies` installs, and written as PDF and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.convergence import DiversityAt
from behavesim.base.errors import UsageError
from behavesim.similarity.clustering import tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Width of a text column in a two-column paper, in inches.
COLUMN_IN = 3.4
# Colours that colour-blind people can tell apart (Okabe and Ito 2008), used in this order, again from the start.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Lengths of strokes and gaps, in line widths: curves have the next of them where the colours begin again.
DASHES = ((), (4.0, 1.5), (1.0, 1.5), (4.0, 1.5, 1.0, 1.5))


def check_matplotlib() -> None:
    """Raise UsageError if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise UsageError(
            "figures of studies need the package matplotlib, which is not installed; pip install 'behavesim[studies]'"
        )


def new_figure(width_in: float, height_in: float, dpi: float = 100) -> Figure:
    """Return an empty figure, sizes in inches; raises UsageError if matplotlib is not installed."""
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), dpi=dpi, layout="constrained")


def dendrogram_of(similarities: NDArray[np.float64]) -> tuple[dict[str, Any], float]:
    """Return the average-linkage dendrogram of an (N, N) similarity matrix, N ≥ 2, and the height of its root.

    It is the dict of scipy's `dendrogram`; leaf k of the drawing is at 10 k + 5.
    """
    from scipy.cluster.hierarchy import dendrogram

    joined = tree(1.0 - similarities)
    return dendrogram(joined, no_plot=True), float(joined[-1, 2])


def column_figure(height_in: float = 2.4, widths: float = 1.0) -> tuple[Figure, Axes]:
    """Return a new figure, `widths` text columns wide, and its axes; raises UsageError without matplotlib."""
    figure = new_figure(widths * COLUMN_IN, height_in)
    axes = figure.subplots()
    axes.tick_params(labelsize=7)
    return figure, axes


def write_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as NAME.pdf and NAME.svg into the folder, made if missing, and return both paths.

    The files hold no date, so equal figures give equal files. Raises UsageError if they cannot be written.
    """
    from matplotlib import rc_context

    files = [folder / f"{name}.{kind}" for kind in ("pdf", "svg")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # TrueType fonts, since publishers refuse Type 3; the salt makes the ids inside an SVG the same every time.
        with rc_context({"pdf.fonttype": 42, "svg.hashsalt": name}):
            for file in files:
                figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else {"CreationDate": None})
    except OSError as error:
        raise UsageError(f"cannot write figures into {folder}: {error.strerror}") from None
    return files


def line_style(place: int) -> dict[str, Any]:
    """Return the colour and dashes of curve number `place`, which no earlier curve has."""
    turn, colour = divmod(place, len(COLOURS))
    # further turns add as many dots to the longest pattern as there are turns too many
    dashes = DASHES[turn] if turn < len(DASHES) else DASHES[-1] + (1.0, 1.5) * (turn - len(DASHES) + 1)
    return {"color": COLOURS[colour], "linestyle": (0, dashes) if dashes else "solid"}


def draw_diversity(axes: Axes, runs: Mapping[str, Sequence[DiversityAt]]) -> None:
    """Draw for each run, over time, a box of the distances inside islands and a curve of the distance between them.

    `runs` maps the name of each run, at least one, to its diversity at successive moments.
    """
    width = 0.8 / len(runs)  # the runs' boxes stand side by side at each moment, with a gap to the next
    for place, (name, moments) in enumerate(runs.items()):
        style = line_style(place)
        across = [moment + (place - (len(runs) - 1) / 2) * width for moment in range(len(moments))]
        boxes = [[value for value in at.intra if value is not None] for at in moments]
        drawn = axes.boxplot(boxes, positions=across, widths=0.8 * width, patch_artist=True, manage_ticks=False)
        for box in drawn["boxes"]:
            box.set(facecolor=style["color"], alpha=0.4)
        known = [(x, at.inter) for x, at in zip(across, moments, strict=True) if at.inter is not None]
        if known:
            axes.plot(*zip(*known, strict=True), marker="o", label=name, markersize=3, linewidth=1, **style)
    longest = max(runs.values(), key=len)
    axes.set_xticks(range(len(longest)), [str(at.registered) for at in longest])
    _label(axes, "candidates", "distance (boxes: inside)")


def draw_tree(axes: Axes, similarities: NDArray[np.float64], labels: Sequence[str]) -> None:
    """Draw the average-linkage dendrogram of an (N, N) similarity matrix, N ≥ 2, with its root at the left."""
    drawing, height = dendrogram_of(similarities)
    # scipy's own drawing would need its axes to be turned and its labels replaced.
    for across, up in zip(drawing["icoord"], drawing["dcoord"], strict=True):
        axes.plot(up, across, color="0.25", linewidth=1)
    axes.set_yticks(10 * np.arange(len(labels)) + 5, [labels[leaf] for leaf in drawing["leaves"]], fontsize=6)
    axes.set_xlim(1.05 * max(height, 0.01), -0.01)  # a limit of 0 would hide half of the line between copies, at 0
    axes.set_xlabel("distance", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.yaxis.tick_right()
    axes.spines[["top", "right", "left"]].set_visible(False)


def _label(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(across, fontsize=8)
    axes.set_ylabel(up, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, frameon=False)
