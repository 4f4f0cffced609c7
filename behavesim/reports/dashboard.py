"""Lay out the live view of a run for a terminal of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from behavesim.reports.live_islands import islands_panel
from behavesim.reports.moment import Moment
from behavesim.reports.panels import boxed_head, curve, diversity, failures, figures, head

Lines = list[list[Segment]]

SIDE_BY_SIDE = 150
"""Width of a terminal, in characters, from which the islands are drawn beside the rest."""
LEFT = 0.44
"""Fraction of the width for the left side, if islands are drawn beside it."""
GAP = 3
"""Characters between the left side and the islands."""
CURVE = (5, 12)
"""Smallest and largest height of the convergence curve, in lines."""


class Dashboard:
    """Renderable of the live view of a run at one moment; it fills at most all but one line of the terminal.

    On a small terminal, parts are left out in this order: the box around the head, the curve, why candidates fail, the
    figures of diversity, islands (the worst first), the last lines of the other figures.
    """

    def __init__(self, moment: Moment) -> None:
        self._moment = moment

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        page = _Page(console, options.update(height=None))
        for line in _laid_out(self._moment, page, options.max_width, options.size.height - 1):
            yield from line
            yield Segment.line()


@dataclass(frozen=True)
class _Page:
    """Draws parts of the view as lines of a given width, with one console's options."""

    console: Console
    options: ConsoleOptions

    def lines(self, part: RenderableType | None, width: int) -> Lines:
        """Return the lines of a part, padded to `width` characters; no lines if the part is None."""
        return [] if part is None else self.console.render_lines(part, self.options.update(width=width))


def _laid_out(moment: Moment, page: _Page, width: int, room: int) -> Lines:
    top = page.lines(head(moment), width)
    body, is_whole = (_side_by_side if width >= SIDE_BY_SIDE else _stacked)(moment, page, width, room - len(top))
    left = room - len(top) - len(body)
    if is_whole and moment.state.bests and left >= CURVE[0]:
        body += page.lines(curve(moment, width, min(left, CURVE[1])), width)
        boxed = page.lines(boxed_head(moment), width)
        if len(boxed) + len(body) <= room:
            top = boxed
    return [*top, *body][:room]


def _side_by_side(moment: Moment, page: _Page, width: int, room: int) -> tuple[Lines, bool]:
    """Return lines with the islands at the right of the other parts, and whether every part had room."""
    across = int(LEFT * width)
    left, is_whole = _fitting([page.lines(part(moment), across) for part in (figures, diversity, failures)], room)
    right = page.lines(islands_panel(moment, width - across - GAP, room), width - across - GAP)
    blank, gap = [Segment(" " * across)], Segment(" " * GAP)
    return [[*(one or blank), gap, *(other or ())] for one, other in zip_longest(left, right)], is_whole


def _stacked(moment: Moment, page: _Page, width: int, room: int) -> tuple[Lines, bool]:
    """Return the lines of all parts below one another, and whether every part had room."""
    first = page.lines(figures(moment), width)
    islands = page.lines(islands_panel(moment, width, room - len(first)), width)
    return _fitting([first, islands, *(page.lines(part(moment), width) for part in (diversity, failures))], room)


def _fitting(parts: Sequence[Lines], room: int) -> tuple[Lines, bool]:
    """Return the first part and each following part until one has no room, and whether every part had room."""
    lines = list(parts[0])
    for part in parts[1:]:
        if len(lines) + len(part) > room:
            return lines, False
        lines += part
    return lines, True
