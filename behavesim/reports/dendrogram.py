"""Draw a dendrogram with Unicode lines: leaves at the left, the root at the right."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.analysis.table import DISTANCE
from behavesim.similarity.linkage import Join

LEFT, RIGHT, UP, DOWN = 1, 2, 4, 8
"""Directions in which a line leaves a cell, as bits that are added up."""
LINES = {
    0: " ",
    LEFT | RIGHT: "─",
    UP | DOWN: "│",
    LEFT | DOWN: "┐",
    LEFT | UP: "┘",
    LEFT | RIGHT | DOWN: "┬",
    LEFT | UP | DOWN: "┤",
}
"""Character for a cell, by the sum of the directions in which lines leave it."""


def dendrogram(labels: Sequence[str], joins: Sequence[Join], width: int) -> list[str]:
    """Return the lines of a dendrogram, at most `width` characters wide if the labels leave room: one for each label.

    Labels are in an order in which lines do not cross. The further right two groups join, the larger their distance. A
    last line has the smallest and the largest distance of a join. There must be at least two labels; `joins`, nearest
    first, must join all of them.
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
    """Draw two branches, each given as (row, column where it ends so far), up to a column, and join them there."""
    (top, _), (bottom, _) = branches
    for row, since in branches:
        for place in range(since, column):
            cells[row][place] |= RIGHT | LEFT
        cells[row][column] |= LEFT
    for row in range(top, bottom):
        cells[row][column] |= DOWN
        cells[row + 1][column] |= UP
