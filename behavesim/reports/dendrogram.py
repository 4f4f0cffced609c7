"""How groups join, as a tree of text that grows to the right."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.analysis.clusters import Join
from behavesim.analysis.table import DISTANCE

LEFT, RIGHT, UP, DOWN = 1, 2, 4, 8
LINES = {
    0: " ",
    LEFT | RIGHT: "─",
    UP | DOWN: "│",
    LEFT | DOWN: "┐",
    LEFT | UP: "┘",
    LEFT | RIGHT | DOWN: "┬",
    LEFT | UP | DOWN: "┤",
}
"""What is drawn where lines go from a place in those directions."""


def dendrogram(labels: Sequence[str], joins: Sequence[Join], width: int) -> list[str]:
    """A line for each group, the first one on top; groups join the further to the right the further apart they are.

    Below stand the distances of the nearest join and of the furthest. There must be two groups or more, and all are
    joined in the end.
    """
    margin = max(map(len, labels)) + 1
    nearest, furthest = joins[0].distance, joins[-1].distance
    end, span = max(1, width - margin - 1), furthest - nearest
    members = [[group] for group in range(len(labels))]
    for join in joins:
        first, second = sorted((members[join.one], members[join.other]))
        members.append([*first, *second])
    row = {group: place for place, group in enumerate(members[-1])}
    places = [(row[group], 0) for group in range(len(labels))]  # of the line that leaves a group: its row and column
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
    """Lengthen two branches up to a column, and join them there; each is given by its row and where it is now."""
    (top, _), (bottom, _) = branches
    for row, since in branches:
        for place in range(since, column):
            cells[row][place] |= RIGHT | LEFT
        cells[row][column] |= LEFT
    for row in range(top, bottom):
        cells[row][column] |= DOWN
        cells[row + 1][column] |= UP
