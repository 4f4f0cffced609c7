"""Figures of reports: similarity maps, curves, runs in a notebook; written as PDF and SVG with embedded fonts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from behavesim.analysis.behaviours import Place, behaviour_map
from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.convergence import (
    SAMPLE,
    Checkpoint,
    DiversityAt,
    Improvement,
    convergence,
    diversity_over_time,
    improvements,
)
from behavesim.analysis.groups import Ranks, RunGroup
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.report import RunReport
from behavesim.analysis.run import Run
from behavesim.analysis.table import FRACTION, TOP
from behavesim.base.errors import UsageError
from behavesim.base.text import ScoreSource
from behavesim.reports.comparison_tables import family_names
from behavesim.similarity.clustering import tree
from behavesim.state.events import TEMPLATE
from behavesim.task import Objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Begin figures of matplotlib, which is loaded when one is drawn; the extra `figures` installs it.


def check_matplotlib() -> None:
    """Raise UsageError if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise UsageError(
            "figures need the package matplotlib, which is not installed; pip install 'behavesim[figures]'"
        )


def new_figure(width_in: float, height_in: float, dpi: float = 100) -> Figure:
    """Return an empty figure, sizes in inches; raises UsageError if matplotlib is not installed."""
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), dpi=dpi, layout="constrained")


# Draw a similarity matrix as a heat map, ordered by a dendrogram with average linkage.


# Endings of the files that a heat map can be written to.
FORMATS = (".png", ".svg", ".pdf")
# Largest number of programs for which the cells show their numbers: smaller cells have no room for them.
MOST_WITH_NUMBERS = 15


def check_figure(path: Path) -> None:
    """Raise UsageError without matplotlib or the path's folder, or if the file name does not end in one of FORMATS."""
    check_matplotlib()
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"a figure is a file ending in {', '.join(FORMATS)}; got {path}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.absolute().parent} for the figure")


def heatmap(labels: Sequence[str], similarities: ArrayLike, title: str) -> Figure:
    """Return the heat map of an (N, N) symmetric similarity matrix, N ≥ 2, with its dendrogram above.

    Rows and columns are in the order of the dendrogram, whose heights are distances, 1 − similarity.
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
    """Return the average-linkage dendrogram of an (N, N) similarity matrix, N ≥ 2, and the height of its root.

    It is the dict of scipy's `dendrogram`; leaf k of the drawing is at 10 k + 5.
    """
    from scipy.cluster.hierarchy import dendrogram

    joined = tree(1.0 - similarities)
    return dendrogram(joined, no_plot=True), float(joined[-1, 2])


def _set_scale(axes: Axes, size: int, height: float) -> None:
    axes.set_xlim(0, 10 * size)
    axes.set_xticks([])
    top = 1.05 * max(height, 0.01)
    axes.set_ylim(-0.02 * top, top)  # a limit of 0 would hide half of the line between copies, at 0
    axes.set_ylabel("distance", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _draw_cells(axes: Axes, matrix: NDArray[np.float64], labels: Sequence[str]) -> None:
    # Each cell shows its number if N is at most MOST_WITH_NUMBERS.
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


# Width of a text column in a two-column paper, in inches.
COLUMN_IN = 3.4
# Colours that colour-blind people can tell apart (Okabe and Ito 2008), used in this order, again from the start.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Lengths of strokes and gaps, in line widths: curves have the next of them where the colours begin again.
DASHES = ((), (4.0, 1.5), (1.0, 1.5), (4.0, 1.5, 1.0, 1.5))


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


def say_whose(axes: Axes, sources: Iterable[ScoreSource]) -> None:
    """Write above axes that they show self-reported scores, if any of these sources is not trusted."""
    if any(source != "trusted" for source in sources):
        axes.set_title("with self-reported scores", fontsize=7, loc="right")


def line_style(place: int) -> dict[str, Any]:
    """Return the colour and dashes of curve number `place`, which no earlier curve has."""
    turn, colour = divmod(place, len(COLOURS))
    # further turns add as many dots to the longest pattern as there are turns too many
    dashes = DASHES[turn] if turn < len(DASHES) else DASHES[-1] + (1.0, 1.5) * (turn - len(DASHES) + 1)
    return {"color": COLOURS[colour], "linestyle": (0, dashes) if dashes else "solid"}


def draw_run(axes: Axes, improvements: Sequence[Improvement], checkpoints: Sequence[Checkpoint]) -> None:
    """Draw the best program (`improvements`) and the mean of the ten best (`checkpoints`) over numbers of candidates.

    The vertical axis is the gap in per cent; if a gap is unknown, the score, without the mean of the ten best.
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

    A group's curve ends where its shortest run ends. The vertical axis is the gap in per cent, or the score if any
    run's gap is unknown.
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


def draw_map(axes: Axes, places: Sequence[Place], objective: Objective, recommended: int | None) -> None:
    """Draw the places of programs in the plane, coloured by their rank in score; `places` must begin with the best.

    The best program, the candidate `recommended` and the template, if they are among them, are named.
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
    """Draw over k how good the first k programs are together: the gap in per cent, or the score if one is unknown."""
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
    axes.set_xlabel(across, fontsize=8)
    axes.set_ylabel(up, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, frameon=False)


# Draw a run in a notebook, on given or new axes of matplotlib.


# Default of the largest number of programs in a dendrogram, as in the paper.
DRAWN = 30


@dataclass(frozen=True)
class Plots:
    """The plots of a run. Each method draws on the given axes, or on new ones of pyplot if None, and returns them.

    New axes raise UsageError without matplotlib.
    """

    run: Run

    def convergence(self, axes: Axes | None = None) -> Axes:
        """Draw the gap of the best program and the mean gap of the ten best, in %, over the number of candidates."""
        axes = axes_or_new(axes)
        draw_run(axes, improvements(self.run), convergence(self.run))
        say_whose(axes, [self.run.score_source])
        return axes

    def diversity(self, axes: Axes | None = None) -> Axes:
        """Draw distances inside islands and between them after each tenth of the budget reached so far.

        Raises UsageError if the run has not reached the first tenth.
        """
        moments = diversity_over_time(self.run, SAMPLE)
        if not moments:
            raise UsageError(f"run {self.run.folder.run} has no islands yet, so there is no diversity to draw")
        axes = axes_or_new(axes)
        draw_diversity(axes, {self.run.folder.run: moments})
        return axes

    def dendrogram(self, axes: Axes | None = None, count: int = DRAWN) -> Axes:
        """Draw the dendrogram, by behaviour, of the `count` best distinct programs.

        Raises UsageError if there are fewer than two.
        """
        name, candidates = self.run.folder.run, [program.candidate for program in self.run.ranked()[:count]]
        if len(candidates) < 2:
            raise UsageError(f"a dendrogram takes two programs or more; run {name} has {len(candidates)}")
        axes = axes_or_new(axes)
        draw_tree(axes, self.run.matrix(candidates), list(map(str, candidates)))
        return axes

    def map(self, axes: Axes | None = None) -> Axes:
        """Draw the map of behaviours, coloured by rank; the best, the recommended program and the template are named.

        Raises UsageError if no candidate is feasible.
        """
        places = behaviour_map(self.run).places
        if not places:
            raise UsageError(f"run {self.run.folder.run} has no feasible candidate, so there is no map to draw")
        recommended = self.run.recommended
        axes = axes_or_new(axes)
        draw_map(axes, places, self.run.state.objective, None if recommended is None else recommended.candidate)
        say_whose(axes, [self.run.score_source])
        return axes

    def portfolio(self, axes: Axes | None = None, count: int = TOP) -> Axes:
        """Draw what the best of the first k programs of a portfolio reaches on the search's instances, k up to `count`.

        Raises UsageError if no candidate is feasible.
        """
        chosen = self.run.portfolio(count)
        if not chosen.members:
            raise UsageError(f"run {self.run.folder.run} has no feasible candidate, so there is no portfolio to draw")
        axes = axes_or_new(axes)
        draw_portfolio(axes, chosen)
        say_whose(axes, [self.run.score_source])
        return axes


def axes_or_new(given: Axes | None) -> Axes:
    """Return the given axes, or new ones of pyplot for None; UsageError without matplotlib."""
    if given is not None:
        return given
    check_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots()[1]


# Write the figures of a report as files; the file names depend only on what is drawn.


# Largest number of runs in the diversity figure. If more have a diversity, there is no such figure: its boxes would be
# too narrow to read.
BESIDE = 3


def write_figures(compared: RunComparison, runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write the figures of some runs to `folder` as PDF and SVG, and return the files.

    They are the convergence of each task's groups, the runs' diversity if one to three runs have one, and the groups'
    ranks. One run alone gets its own convergence and the dendrogram of the best. `compared` is the comparison of the
    runs.
    """
    files = []
    for name, size, draw in _figures(compared, runs):
        figure, axes = column_figure(*size)
        draw(axes)
        files += write_figure(figure, folder, name)
    return files


def _figures(
    compared: RunComparison, runs: Sequence[Run]
) -> Iterator[tuple[str, tuple[float, ...], Callable[[Axes], object]]]:
    if len(runs) == 1:
        plots = Plots(runs[0])
        yield "convergence", (), plots.convergence
        if compared.runs[0].distinct.programs > 1:
            yield "dendrogram", (4.0,), plots.dendrogram
    for entry, on in zip(compared.tasks, family_names(compared.tasks), strict=True):
        name = "-".join(["convergence", *re.findall(r"[\w.+-]+", on)])  # `on` may be a path
        yield name, (), partial(draw_groups, groups=compared.groups_of(entry))
    over_time = _diversity_by_name(compared.runs)
    if 1 <= len(over_time) <= BESIDE:
        yield "diversity", (2.4, 2), partial(draw_diversity, runs=over_time)
    if compared.ranks is not None:
        yield "ranks", (0.8 + 0.25 * len(compared.ranks.means),), partial(_draw_ranks, compared, compared.ranks)


def _draw_ranks(compared: RunComparison, ranks: Ranks, axes: Axes) -> None:
    draw_ranks(axes, ranks)
    say_whose(axes, (entry.score_source for entry in compared.tasks))


def _diversity_by_name(runs: Sequence[RunReport]) -> dict[str, Sequence[DiversityAt]]:
    known = [run for run in runs if run.diversity_over_time]
    count = Counter(run.summary.run for run in known)
    names = [run.summary.run if count[run.summary.run] == 1 else str(run.origin.folder) for run in known]
    return dict(zip(names, (run.diversity_over_time for run in known), strict=True))
