"""Draw figures of reports on given axes, and write them for papers as PDF and SVG with embedded fonts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.behaviour_map import Place
from behavesim.analysis.convergence import Checkpoint, Improvement
from behavesim.analysis.groups import Ranks, RunGroup
from behavesim.analysis.islands import DiversityAt
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.table import FRACTION
from behavesim.base.errors import UsageError
from behavesim.base.score_source import ScoreSource
from behavesim.reports.drawing import new_figure
from behavesim.reports.heatmap import dendrogram_of
from behavesim.state.events import TEMPLATE
from behavesim.task import Objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN_IN = 3.4
"""Width of a text column in a two-column paper, in inches."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours that colour-blind people can tell apart (Okabe and Ito 2008), used in this order, again from the start."""
DASHES = ((), (4.0, 1.5), (1.0, 1.5), (4.0, 1.5, 1.0, 1.5))
"""Lengths of strokes and gaps, in line widths: curves have the next of them where the colours begin again."""


def column_figure(height_in: float = 2.4, widths: float = 1.0) -> tuple[Figure, Axes]:
    """Return a new figure, `widths` text columns wide and `height_in` inches high, and its axes.

    Raises UsageError if matplotlib is not installed.
    """
    figure = new_figure(widths * COLUMN_IN, height_in)
    axes = figure.subplots()
    axes.tick_params(labelsize=7)
    return figure, axes


def write_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as NAME.pdf and NAME.svg into the folder, and return both paths.

    The folder is made if missing. The files hold no date, so equal figures give equal files. Raises UsageError if they
    cannot be written.
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


def say_whose(axes: Axes, sources: Iterable[ScoreSource]) -> None:
    """Write above axes that they show self-reported scores, if any of these sources is not trusted."""
    if any(source != "trusted" for source in sources):
        axes.set_title("with self-reported scores", fontsize=7, loc="right")


def line_style(place: int) -> dict[str, Any]:
    """Return the colour and dashes of curve number `place`, which no earlier curve has.

    Each turn through COLOURS has its own dashes, so that people tell curves apart without seeing colours.
    """
    turn, colour = divmod(place, len(COLOURS))
    # further turns add as many dots to the longest pattern as there are turns too many
    dashes = DASHES[turn] if turn < len(DASHES) else DASHES[-1] + (1.0, 1.5) * (turn - len(DASHES) + 1)
    return {"color": COLOURS[colour], "linestyle": (0, dashes) if dashes else "solid"}


def draw_run(axes: Axes, improvements: Sequence[Improvement], checkpoints: Sequence[Checkpoint]) -> None:
    """Draw the best program (`improvements`) and the mean of the ten best (`checkpoints`) over numbers of candidates.

    The vertical axis is the gap in per cent. If a gap is unknown, it is the score, and the mean of the ten best is left
    out. Without a feasible candidate there are only the axes' labels.
    """
    end = checkpoints[-1].asked if checkpoints else 0
    has_gap = all(each.gap is not None for each in improvements)
    best = [FRACTION.factor * each.gap if has_gap and each.gap is not None else each.score for each in improvements]
    if best:
        asked = [*(each.asked for each in improvements), end]
        axes.step(asked, [*best, best[-1]], where="post", color=COLOURS[0], label="best", linewidth=1.2)
    ten = [(each.asked, FRACTION.factor * each.top10_gap) for each in checkpoints if each.top10_gap is not None]
    if ten:
        axes.plot(*zip(*ten, strict=True), color=COLOURS[1], label="mean of the ten best", linewidth=1)
    _label(axes, "candidates", "gap %" if has_gap else "score")


def draw_groups(axes: Axes, groups: Sequence[RunGroup]) -> None:
    """Draw the mean best program of each group's runs over the number of candidates, with bands of 95 % confidence.

    A group's curve ends where its shortest run ends. A group with fewer than FEWEST runs has no band. The vertical axis
    is the gap in per cent, or the score if any run's gap is unknown.
    """
    has_gap = all(group.has_gaps for group in groups)
    factor = FRACTION.factor if has_gap else 1.0
    for place, group in enumerate(groups):
        means = group.mean_convergence(by_gap=has_gap)
        if not means:
            continue
        asked = [each.asked for each in means]
        style = line_style(place)
        axes.plot(asked, [factor * each.best.mean for each in means], label=group.label, linewidth=1.2, **style)
        bands = [(each.asked, each.best.low, each.best.high) for each in means]
        known = [(at, factor * low, factor * high) for at, low, high in bands if low is not None and high is not None]
        if known:
            at, low, high = zip(*known, strict=True)
            axes.fill_between(at, low, high, color=style["color"], alpha=0.2, linewidth=0)
    _label(axes, "candidates", "best gap %" if has_gap else "best score")
    say_whose(axes, (group.family[2] for group in groups))


def draw_diversity(axes: Axes, runs: Mapping[str, Sequence[DiversityAt]]) -> None:
    """Draw for each run, over time, a box of the distances inside islands and a curve of the distance between them.

    `runs` maps a run's name to its diversity at successive moments; there must be at least one run.
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
    """Draw the dendrogram of an (N, N) symmetric similarity matrix, N ≥ 2, its root at the left.

    It is joined by average linkage on 1 − similarity; `labels` are in the order of the matrix.
    """
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


def draw_map(axes: Axes, places: Sequence[Place], objective: Objective, recommended: int | None) -> None:
    """Draw the places of programs in the plane, coloured by their rank in score; `places` must begin with the best.

    The best program, the candidate `recommended` (None for none) and the template, if they are among them, are named.
    """
    ranking = sorted(places, key=lambda place: (-objective.utility(place.score), place.candidate))
    ranks = {place.candidate: rank for rank, place in enumerate(ranking, 1)}
    shown = places[::-1]  # of programs in one place, the best is drawn on top
    points = axes.scatter(
        [place.x for place in shown],
        [place.y for place in shown],
        c=[ranks[place.candidate] for place in shown],
        cmap="viridis_r",
        s=18,
        edgecolors="0.3",
        linewidths=0.4,
    )
    names: dict[tuple[float, float], list[str]] = {}
    for candidate, name in ((places[0].candidate, "best"), (recommended, "recommended"), (TEMPLATE, "template")):
        for place in places:
            if place.candidate == candidate:
                names.setdefault((place.x, place.y), []).append(name)
    for point, named in names.items():
        axes.scatter(*point, s=90, facecolors="none", edgecolors="black", linewidths=1)
        axes.annotate(
            ", ".join(named),
            point,
            xytext=(0, -14 if named[-1] == "template" else 7),  # below, to cover no other name
            textcoords="offset points",
            fontsize=7,
            ha="center",
        )
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.figure.colorbar(points, ax=axes, label="rank", shrink=0.7)


def draw_portfolio(axes: Axes, chosen: Portfolio) -> None:
    """Draw over k how good the first k programs are together: the gap in per cent, or the score if a gap is unknown.

    On each instance the best of their scores counts.
    """
    has_gap = all(each.together_gap is not None for each in chosen.members)
    worth = [
        FRACTION.factor * each.together_gap if has_gap and each.together_gap is not None else each.together
        for each in chosen.members
    ]
    places = range(1, len(worth) + 1)
    axes.plot(places, worth, "-o", color=COLOURS[0], markersize=3.5, linewidth=1.2)
    axes.set_xticks(places)
    _label(axes, "programs", "gap of the best of them %" if has_gap else "score of the best of them")


def draw_ranks(axes: Axes, ranks: Ranks) -> None:
    """Draw the groups' mean ranks, the best on top, with bars as long as the critical difference."""
    best_first = sorted(ranks.means.items(), key=lambda entry: entry[1])
    places = range(len(best_first), 0, -1)
    axes.errorbar(
        [mean for _, mean in best_first],
        places,
        xerr=ranks.critical / 2,  # two groups differ where their bars do not overlap
        fmt="o",
        color=COLOURS[0],
        capsize=3,
        markersize=4,
        linewidth=1,
    )
    axes.set_yticks(places, [label for label, _ in best_first], fontsize=7)
    axes.set_ylim(0.5, len(best_first) + 0.5)
    axes.set_xlabel("mean rank; groups whose bars do not overlap differ significantly", fontsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _label(axes: Axes, across: str, up: str) -> None:
    """Label the axes `across` and `up`, hide the frame at the top and right, and add a legend if curves have labels."""
    axes.set_xlabel(across, fontsize=8)
    axes.set_ylabel(up, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, frameon=False)
