"""The map and the tree of behaviours, by who found them first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.behaviour_map import in_the_plane
from behavesim.analysis.table import FRACTION
from behavesim.reports.drawing import new_figure
from behavesim.reports.figures import COLOURS, draw_tree, write_figure
from behavesim.studies.known.findings import Found, KnownStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LABELLED = 60
"""Most behaviours of the tree, the best ones: more labels would overlap."""
CLOSE = 0.03
"""Share of the map's extent below which two points have one label: about the height of its digits."""
MARKERS = "osD^vPX"
"""Markers of the parties, used in this order with the colours; each new round of colours begins one marker later."""


def draw(study: KnownStudy, folder: Path) -> list[Path]:
    """Draw the map, and the tree of the best LABELLED behaviours, into known.pdf and known.svg; return the paths.

    Makes the folder if it is missing. Raises UsageError if matplotlib is not installed or the files cannot be written.
    """
    firsts = sorted(study.firsts, key=lambda each: -study.objective.utility(each.score))[:LABELLED]
    figure = new_figure(9.5, max(4.0, 1.2 + 0.13 * len(firsts)))
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _draw_map(study, left)
    _draw_tree(study, right, firsts)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=7, fontsize=6, frameon=False)
    return write_figure(figure, folder, "known")


def _draw_map(study: KnownStudy, axes: Axes) -> None:
    """Draw all behaviours as points with their numbers, in the colour and marker of who found them first."""
    firsts = study.firsts
    rows = [row for row, each in enumerate(study.found) if each.copy_of is None]
    points, kept = in_the_plane(1.0 - study.behaviour[np.ix_(rows, rows)])
    for place, party in enumerate(dict.fromkeys(each.whose for each in study.found)):
        own = [row for row, each in enumerate(firsts) if each.whose == party]
        if not own:  # all that they found are copies: the legend has no marker for them
            continue
        axes.scatter(
            points[own, 0],
            points[own, 1],
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[(place + place // len(COLOURS)) % len(MARKERS)],  # the eighth has another one than the first
            s=[18 + 10 * len(study.finders(firsts[row].behaviour)) for row in own],
            alpha=0.8,
            linewidths=0,
            label=party,
        )
    for point, text in labels([each.behaviour for each in firsts], points):
        axes.annotate(text, point, xytext=(3, 3), textcoords="offset points", fontsize=5)
    shown = "" if kept is None else f" ({FRACTION.text(kept).split('.')[0]} % of the variation)"
    axes.set_title(f"{study.task}: behaviours, by first finder{shown}", fontsize=7, loc="left")
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")


def labels(numbers: Sequence[int], points: NDArray[np.float64]) -> list[tuple[tuple[float, float], str]]:
    """Return the labels of N points, (N, 2), each with its place: a point's number, and those of points close to it.

    N is 1 or more. Close is nearer than CLOSE of the points' extent: two labels would overprint each other.
    """
    found: list[tuple[tuple[float, float], list[int]]] = []
    close = CLOSE * np.ptp(points, axis=0).max()
    for number, (x, y) in zip(numbers, points.tolist(), strict=True):
        shared = next((held for at, held in found if math.dist(at, (x, y)) <= close), None)
        if shared is None:
            found.append(((x, y), [number]))
        else:
            shared.append(number)
    return [(at, ", ".join(map(str, held))) for at, held in found]


def _draw_tree(study: KnownStudy, axes: Axes, firsts: list[Found]) -> None:
    """Draw the dendrogram of some behaviours, each with its number, first program and number of others.

    `firsts` are the first programs of these behaviours. Of fewer than two nothing is drawn.
    """
    if len(firsts) < 2:
        axes.set_axis_off()
        return
    place = {each.name: row for row, each in enumerate(study.found)}
    rows = [place[each.name] for each in firsts]
    draw_tree(axes, study.behaviour[np.ix_(rows, rows)], [_label(study, each) for each in firsts])
    of = f" (the {len(firsts)} best)" if len(firsts) < len(study.firsts) else ""
    axes.set_title(f"how far apart they are{of}", fontsize=7, loc="left")


def _label(study: KnownStudy, first: Found) -> str:
    others = len(study.finders(first.behaviour)) - 1
    return f"{first.behaviour} {first.name}" + (f" (+{others})" if others else "")
