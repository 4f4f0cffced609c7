"""Lay out the live view of a run for a terminal of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from behavesim.reports.live_islands import islands_panel
from behavesim.reports.live_run import LiveRun
from behavesim.reports.panels import curve, diversity, failures, figures, head, legend

Lines = list[list[Segment]]
"""Lines of text on the terminal, each of pieces with their styles."""
Draw = Callable[[RenderableType | None, int], Lines]
"""Function that turns a part of the view and a width in characters into lines, padded to this width; None gives no
lines."""

SIDE_BY_SIDE = 150
"""Width of a terminal, in characters, from which the islands are drawn beside the rest."""
LEFT = 0.44
"""Fraction of the width for the left side, if islands are drawn beside it: their table needs more than half."""
GAP = 3
"""Characters between the left side and the islands."""
CURVE = (5, 12)
"""Smallest and largest height of the convergence curve, in lines."""


class Dashboard:
    """Renderable of the live view of a run at one moment; it fills at most all but one line of the terminal.

    A small terminal shows fewer parts. First the box around the run's name and progress goes, then the convergence
    curve, why candidates fail, and the distances of behaviours. Islands go next, the worst first, and then the last
    lines of the rest.
    """

    def __init__(self, live: LiveRun) -> None:
        self._live = live

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        unbounded = options.update(height=None)  # else rich would pad or cut every part to the terminal's height

        def draw(part: RenderableType | None, width: int) -> Lines:
            return [] if part is None else console.render_lines(part, unbounded.update(width=width))

        for line in _laid_out(self._live, draw, options.max_width, options.size.height - 1):
            yield from line
            yield Segment.line()
        yield Segment("")  # the cursor waits on an empty line: there an echoed ^C has room, and moves no other line


def _laid_out(live: LiveRun, draw: Draw, width: int, room: int) -> Lines:
    """Return the lines of all parts that `room` lines have room for; the curve and the box take what is left.

    The meanings of words are shown only where they leave room for the curve.
    """
    top = draw(head(live), width)
    body, is_whole = (_side_by_side if width >= SIDE_BY_SIDE else _stacked)(live, draw, width, room - len(top))
    words = draw(legend(live), width) if is_whole and live.state.islands else []
    left = room - len(top) - len(body)
    if left < len(words) + CURVE[0]:
        words = []
    left -= len(words)
    if is_whole and live.state.bests and left >= CURVE[0]:
        body += draw(curve(live, width, min(left, CURVE[1])), width)
        boxed = draw(head(live, is_boxed=True), width)
        if len(boxed) + len(body) + len(words) <= room:
            top = boxed
    return [*top, *body, *words][:room]


def _side_by_side(live: LiveRun, draw: Draw, width: int, room: int) -> tuple[Lines, bool]:
    """Return lines with the islands beside the other parts, and whether all other parts had room."""
    across = int(LEFT * width)
    left, is_whole = _fitting([draw(part(live), across) for part in (figures, diversity, failures)], room)
    right = draw(islands_panel(live, width - across - GAP, room), width - across - GAP)
    blank, gap = [Segment(" " * across)], Segment(" " * GAP)
    return [[*(one or blank), gap, *(other or ())] for one, other in zip_longest(left, right)], is_whole


def _stacked(live: LiveRun, draw: Draw, width: int, room: int) -> tuple[Lines, bool]:
    """Return lines with the parts below one another, and whether all of them had room."""
    first = draw(figures(live), width)
    islands = draw(islands_panel(live, width, room - len(first)), width)
    return _fitting([first, islands, *(draw(part(live), width) for part in (diversity, failures))], room)


def _fitting(parts: Sequence[Lines], room: int) -> tuple[Lines, bool]:
    """Return the first part and each following part until one has no room, and whether every following part had room.

    There is room for `room` lines. The first part is returned whole, even if it has more.
    """
    lines = list(parts[0])
    for part in parts[1:]:
        if len(lines) + len(part) > room:
            return lines, False
        lines += part
    return lines, True
