"""The study "known" as tables for people and for files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.behaviours import in_the_plane
from behavesim.analysis.table import COUNT, DISTANCE, FRACTION, SCORE, Column, Table
from behavesim.base.text import count_noun, mark, one_line

from .figures import COLOURS, draw_tree, new_figure, write_figure
from .known import FoundProgram, KnownStudy, Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Most characters of the reason why a program was refused, in a table.
LONGEST_REASON = 200


def tables(study: KnownStudy) -> tuple[Table, ...]:
    """Return the parties, what was found again, the programs, the pairs that disagree, and what was refused.

    The pairs are two tables: of equal behaviour, and of similar text. These two and the last are left out if empty.
    """
    kept = (
        _same(study, study.same_behaviour()),
        _similar(study, study.similar_text()),
        _refused(study),
    )
    return (_parties(study), _again(study), _programs(study), *(table for table in kept if table.rows))


def describe_finding(study: KnownStudy) -> str:
    """Return a sentence on how many programs and behaviours there are."""
    return (
        f"{count_noun(len(study.found), 'program')}, {count_noun(len(study.firsts), 'different behaviour')}, "
        f"{study.far} of them far apart (distance at least {DISTANCE.text(study.apart)})"
    )


def _parties(study: KnownStudy) -> Table:
    columns = (
        Column("whose"),
        Column("programs", COUNT),
        Column("behaviours", COUNT),
        Column("alone", COUNT, title="found by nobody else"),
        Column("best", title="best program"),
        Column("score", SCORE),
        Column("gap", FRACTION),
    )
    rows = tuple(
        (each.whose, each.programs, each.behaviours, each.alone, each.best, each.score, each.gap)
        for each in study.parties
    )
    title = f"{study.task}, {study.split} instances{mark(study.score_source)}: who found what"
    return Table("parties", title, columns, rows, describe_finding(study))


def _again(study: KnownStudy) -> Table:
    columns = (
        Column("behaviour", COUNT),
        Column("score", SCORE),
        Column("first"),
        Column("again", title="found again by"),
    )
    rows = []
    for first in study.firsts:
        finders = study.finders(first.behaviour)
        if len({each.whose for each in finders}) > 1:
            rows.append((first.behaviour, first.score, first.name, ", ".join(_others(finders[1:]))))
    caption = "" if rows else "No behaviour was found by two of them."
    return Table("again", "who found it again", columns, tuple(rows), caption)


def _others(finders: Sequence[FoundProgram]) -> list[str]:
    """Return the finders' names; if a party has several, its name with their number stands for them."""
    count = Counter(each.whose for each in finders)
    firsts = {each.whose: each.name for each in reversed(finders)}
    return [firsts[whose] if of == 1 else f"{whose} ({of} programs)" for whose, of in count.items()]


def _programs(study: KnownStudy) -> Table:
    columns = (
        Column("program"),
        Column("whose"),
        Column("score", SCORE),
        Column("gap", FRACTION),
        Column("behaviour", COUNT),
        Column("nearest", title="copy of, or nearest"),
        Column("similarity", DISTANCE),
        Column("text", DISTANCE, title=study.metric),
        Column("parts", title="parts at"),
    )
    place = {each.name: row for row, each in enumerate(study.found)}
    ranked = sorted(study.found, key=lambda each: -study.objective.utility(each.score))
    rows = tuple(
        (
            each.name,
            each.whose,
            each.score,
            each.gap,
            each.behaviour,
            each.nearest,
            each.similarity,
            None if each.nearest is None else float(study.text[place[each.name], place[each.nearest]]),
            _parts(each),
        )
        for each in ranked
    )
    caption = f"similarity: BehaveSim; {study.metric}: similarity of text; both to the program named before them"
    return Table("programs", "the programs, best first", columns, rows, caption)


def _parts(found: FoundProgram) -> str | None:
    if found.copy_of is not None:
        return "never: a copy"
    return None if found.first_difference is None else found.first_difference.in_words


def _same(study: KnownStudy, pairs: Sequence[Pair]) -> Table:
    columns = Column("program"), Column("other", title="and"), Column("text", DISTANCE, title=study.metric)
    rows = tuple((pair.one, pair.other, pair.text) for pair in pairs)
    return Table("same_behaviour", "the same behaviour in the most different words", columns, rows, keys=2)


def _similar(study: KnownStudy, pairs: Sequence[Pair]) -> Table:
    columns = (
        Column("program"),
        Column("other", title="and"),
        Column("text", DISTANCE, title=study.metric),
        Column("similarity", DISTANCE),
    )
    rows = tuple((pair.one, pair.other, pair.text, pair.behavesim) for pair in pairs)
    return Table("similar_text", "the most similar words with different behaviour", columns, rows, keys=2)


def _refused(study: KnownStudy) -> Table:
    columns = Column("program"), Column("whose"), Column("reason"), Column("message")
    rows = tuple(
        (each.name, each.whose, f"{each.stage}: {each.reason}", one_line(each.message, LONGEST_REASON))
        for each in study.refused
    )
    return Table("refused", "programs that are not compared", columns, rows)


# The map and the tree of behaviours, by who found them first.


# Most behaviours of the tree, the best ones: more labels would overlap.
LABELLED = 60
# Share of the map's extent below which two points have one label: about the height of its digits.
CLOSE = 0.03
# Markers of the parties, used in this order with the colours; each new round of colours begins one marker later.
MARKERS = "osD^vPX"


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


def _draw_tree(study: KnownStudy, axes: Axes, firsts: list[FoundProgram]) -> None:
    """Draw the dendrogram of some behaviours, each with its number, first program and number of others."""
    # `firsts` are the first programs of these behaviours. Of fewer than two nothing is drawn.
    if len(firsts) < 2:
        axes.set_axis_off()
        return
    place = {each.name: row for row, each in enumerate(study.found)}
    rows = [place[each.name] for each in firsts]
    draw_tree(axes, study.behaviour[np.ix_(rows, rows)], [_label(study, each) for each in firsts])
    of = f" (the {len(firsts)} best)" if len(firsts) < len(study.firsts) else ""
    axes.set_title(f"how far apart they are{of}", fontsize=7, loc="left")


def _label(study: KnownStudy, first: FoundProgram) -> str:
    others = len(study.finders(first.behaviour)) - 1
    return f"{first.behaviour} {first.name}" + (f" (+{others})" if others else "")
