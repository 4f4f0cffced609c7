"""Drawings of characters for terminals: a curve, a tree of groups."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from behavesim.analysis.table import DISTANCE, SCORE
from behavesim.similarity.clustering import Join

# A step function: (place, value from there on), in ascending order of place.
Steps = Sequence[tuple[int, float]]
# Characters for a cell filled from below by 0 to 8 eighths.
BLOCKS = " ▁▂▃▄▅▆▇█"
LEFT, RIGHT, UP, DOWN = 1, 2, 4, 8
"""Directions in which a line leaves a cell, as bits that are added up."""
# Character for a cell, by the sum of the directions in which lines leave it.
LINES = {
    0: " ",
    LEFT | RIGHT: "─",
    UP | DOWN: "│",
    LEFT | DOWN: "┐",
    LEFT | UP: "┘",
    LEFT | RIGHT | DOWN: "┬",
    LEFT | UP | DOWN: "┤",
}


def at_the_end_of(steps: Steps, spans: int, end: int) -> list[float | None]:
    """Return a step function's value at the end of each of `spans` parts of 0 to `end`; None before the first step."""
    places = [place for place, _ in steps]
    passed = (bisect_right(places, (span + 1) * end / spans) for span in range(spans))
    return [steps[count - 1][1] if count else None for count in passed]


def area(values: Sequence[float | None], height: int) -> list[str]:
    """Return `height` lines of text, top line first, that draw each value as a column of blocks.

    Columns are scaled from the smallest value (an eighth of a line) to the largest. A None leaves its column empty.
    """
    known = [value for value in values if value is not None]
    low, span = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    # At least an eighth, since no block at all means that the value is unknown.
    eighths = [0 if v is None else 1 + round((8 * height - 1) * ((v - low) / span if span else 0.0)) for v in values]
    return ["".join(BLOCKS[min(max(level - 8 * row, 0), 8)] for level in eighths) for row in reversed(range(height))]


def from_template(template: float | None, bests: Steps, gain: float | None) -> Steps:
    """Return the steps of the best score so far, which begins with the template's score at candidate 0.

    `bests` are (candidate, score) of each new best candidate; those no better than the template are left out. `gain` is
    the improvement of the last on the template. If `template` or `gain` is None, `bests` are returned.
    """
    if template is None or gain is None:
        return bests
    is_maximised = bool(bests) and bests[-1][1] > template
    better = [(at, score) for at, score in bests if score != template and (score > template) == is_maximised]
    return [(0, template), *(better if gain > 0 else [])]


def convergence(bests: Steps, end: int, width: int, height: int) -> list[str]:
    """Return `height` lines (at least 3), `width` characters wide, that draw the best score over candidates 0 to `end`.

    `bests` are (candidate, score) of each new best program, at least one. Higher columns are better in either direction
    of the objective.
    """
    first, last = bests[0][1], bests[-1][1]
    margin = max(len(SCORE.text(first)), len(SCORE.text(last)))
    scores = at_the_end_of(bests, width - margin - 1, end)
    # The best score only gets better: if it sinks, the task minimises, and is drawn upside down.
    rows = area([None if score is None else score if last > first else -score for score in scores], height - 1)
    labels = [SCORE.text(last), *("" for _ in rows[2:]), SCORE.text(first)][-len(rows) :]
    lines = [f"{label:>{margin}} {row}" for label, row in zip(labels, rows, strict=True)]
    return [*lines, f"{end:,} candidates".rjust(width)]


def dendrogram(labels: Sequence[str], joins: Sequence[Join], width: int) -> list[str]:
    """Return the lines of a dendrogram, at most `width` characters wide if the labels leave room: one for each label.

    The further right two groups join, the larger their distance. A last line has the smallest and the largest distance.
    There must be at least two labels; `joins`, nearest first, names them by their indices.
    """
    margin = max(map(len, labels)) + 1
    nearest, furthest = joins[0].distance, joins[-1].distance
    end, span = max(1, width - margin - 1), furthest - nearest
    # The members of each label alone, then of each join: the last holds all labels, in the order of their lines.
    members = [[group] for group in range(len(labels))]
    for join in joins:
        first, second = sorted((members[join.one], members[join.other]))
        members.append([*first, *second])
    row = {group: place for place, group in enumerate(members[-1])}
    places = [(row[group], 0) for group in range(len(labels))]  # row and column where each group's line ends so far
    cells = [[0] * (end + 1) for _ in labels]
    for join in joins:
        column = 1 + round((end - 1) * (join.distance - nearest) / span) if span > 0 else end
        branches = sorted((places[join.one], places[join.other]))
        _draw(cells, branches, column)
        places.append((branches[0][0], column))
    drawn = ("".join(LINES[cell] for cell in line) for line in cells)
    lines = [f"{labels[group]:<{margin}}{line}".rstrip() for group, line in zip(members[-1], drawn, strict=True)]
    ends = DISTANCE.text(nearest) if span > 0 else "", f"{DISTANCE.text(furthest)} apart"
    return [*lines, f"{' ' * margin}{ends[0]:<{max(0, width - margin - len(ends[1]))}}{ends[1]}"]


def _draw(cells: list[list[int]], branches: Sequence[tuple[int, int]], column: int) -> None:
    (top, _), (bottom, _) = branches
    for row, since in branches:
        for place in range(since, column):
            cells[row][place] |= RIGHT | LEFT
        cells[row][column] |= LEFT
    for row in range(top, bottom):
        cells[row][column] |= DOWN
        cells[row + 1][column] |= UP
