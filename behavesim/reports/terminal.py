"""Prints tables, drawings and programs on a terminal, in sections that a person can ask for by name."""

from __future__ import annotations

import math
import os
import shutil
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleDimensions
from rich.measure import Measurement, measure_renderables
from rich.table import Table as Drawing
from rich.text import Text

from behavesim.analysis.table import DISTANCE, SCORE, Estimate, Table
from behavesim.base.text import printable, wrap

if TYPE_CHECKING:
    from behavesim.similarity.clustering import Join

# A width above that of any table, in characters: rich's measurements never exceed the given width.
UNBOUNDED = 10_000
# Least characters to which a name is shortened; names of runs would no longer differ in fewer.
SHORTEST = 16
# Width of a heading where stdout is no terminal, in characters.
PLAIN = 80


def screen(stderr: bool = False) -> Console:
    """Return a console on stdout or `stderr` that prints text as it is, brackets in names included."""
    console = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if console.is_dumb_terminal:  # for which rich takes 80 columns, however many it has
        console.size = ConsoleDimensions(*shutil.get_terminal_size())
    return console


def show(tables: Iterable[Table]) -> None:
    """Print tables on stdout, an empty line between two.

    On a terminal, or where the variable COLUMNS is set, a table that is too wide is transposed or split by columns.
    Elsewhere each row of a table is one line, as long as its content.
    """
    console = screen()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = UNBOUNDED
    for place, table in enumerate(tables):
        if place:
            console.print()
        for drawing in fitting(table, console):
            print_lines(drawing, console)


def print_lines(drawing: Drawing, console: Console) -> None:
    """Print a table, its title above and its caption below, both wrapped at the console's width, not the table's."""
    title, caption = drawing.title, drawing.caption
    drawing.title = drawing.caption = None
    if title:
        console.print(Text(str(title), style="bold"))
    if console.is_terminal:
        console.print(drawing)
    else:  # rich pads each line to the table's width, which a file or another program has no use for
        with console.capture() as captured:
            console.print(drawing)
        console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    if caption:
        console.print(Text(str(caption), style="dim"))


def show_rows(table: Table, dispensable: Sequence[str]) -> None:
    """Print a table on stdout with one line for each row.

    On a terminal that is too narrow, the columns named in `dispensable` are left out, in this order, until the rest
    fits; then the texts of the first column are shortened in their middle.
    """
    console = screen()
    if not console.is_terminal:
        console.width = UNBOUNDED
    shown = table
    for count in range(len(dispensable) + 1):
        shown = table.without(*dispensable[:count])
        if _measure(rich_table(shown, is_whole=True), console).maximum <= console.width:
            break
    excess = _measure(rich_table(shown, is_whole=True), console).maximum - console.width
    if excess > 0:
        most = max(SHORTEST, max((len(str(row[0])) for row in shown.rows), default=0) - excess)
        shown = replace(shown, rows=tuple((_shorten_middle(str(row[0]), most), *row[1:]) for row in shown.rows))
    drawing = rich_table(shown, is_whole=True)
    console.width = max(console.width, _measure(drawing, console).maximum)  # the terminal wraps what nothing may cut
    print_lines(drawing, console)


def _shorten_middle(text: str, most: int) -> str:
    end = most // 2
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"


def show_lines(title: str, lines: Iterable[str]) -> None:
    """Print a title, unless it is empty, and lines of text on stdout as they are; none of them is wrapped."""
    console = screen()
    if title:
        console.print(Text(title, style="bold"), soft_wrap=True)
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def show_sentences(sentences: Iterable[str]) -> None:
    """Print sentences on stdout, each on a line of its own; a terminal's are wrapped between words."""
    across = width() if screen().is_terminal else UNBOUNDED
    show_lines("", (wrap(each, across) for each in sentences))


def show_heading(text: str) -> None:
    """Print a heading on stdout: a text and then a line to the right edge, or the text alone if there is no room."""
    across = width() if screen().is_terminal else max(PLAIN, len(text) + 4)
    if len(text) + 3 > across:
        show_lines(text, ())
    else:
        show_lines(f"{text} {'─' * (across - len(text) - 1)}", ())


def width() -> int:
    """Return the width in characters of what is printed: the variable COLUMNS, else the terminal's, else 80."""
    return screen().width


def count_lines(line: str) -> int:
    """Return how many lines of the terminal a line of text takes; 1 where stdout is no terminal."""
    return max(1, math.ceil(len(line) / width())) if screen().is_terminal else 1


def show_text(text: str, language: str) -> None:
    """Print untrusted text, such as a program, on stdout: highlighted on a terminal, plain elsewhere.

    `language` is the name of a syntax as rich knows it, such as "python". Control characters are shown as escapes.
    """
    console, safe = screen(), printable(text.rstrip("\n"))
    if console.is_terminal:
        from rich.syntax import Syntax  # which loads a highlighter

        console.print(Syntax(safe, language, theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        console.file.write(f"{safe}\n")  # rich would break long lines


def fitting(table: Table, console: Console) -> list[Drawing]:
    """Return a table as drawings that fit the console's width without breaking a word; one drawing if possible.

    A table that is too wide is split by columns into as few parts as possible. If it has one key column and more other
    columns than rows, rows and columns are swapped first.
    """
    table = table.known

    def is_too_wide(part: Table) -> bool:
        return _measure(rich_table(part), console).minimum > console.width

    if len(table.columns) - 1 > len(table.rows) and table.keys == 1 and is_too_wide(table):
        table = table.turned
    # Each part gets as many columns as fit, and one at least: `ends` has the column at which each part begins.
    last, ends = len(table.columns), [table.keys]
    for stop in range(table.keys + 2, last + 1):
        if is_too_wide(table.part(ends[-1], stop)):
            ends.append(stop - 1)
    parts = [table.part(start, stop) for start, stop in pairwise([*ends, last])]
    parts[1:] = [replace(part, title=f"{part.title}, continued".removeprefix(", ")) for part in parts[1:]]
    parts[:-1] = [replace(part, caption="") for part in parts[:-1]]
    drawings = list(map(rich_table, parts))
    for drawing in drawings:
        _give_room(drawing, console)
    return drawings


def _measure(drawing: Drawing, console: Console) -> Measurement:
    # The console's width does not bound them.
    return Measurement.get(console, console.options.update(width=UNBOUNDED), drawing)


def _give_room(drawing: Drawing, console: Console) -> None:
    """Set each column's width: its longest word, and its share of the console's free width if it needs more."""
    # With rich's own widths, a column of long text would leave too little room for the numbers in others.
    anyhow = console.options.update(width=UNBOUNDED)
    left = max(0, console.width - _measure(drawing, console).minimum)
    needs = [
        measure_renderables(console, anyhow, (column.header, *column.cells)).clamp(min_width=column.min_width)
        for column in drawing.columns
    ]
    ordered = sorted(zip(drawing.columns, needs, strict=True), key=lambda pair: pair[1].span)
    for place, (column, need) in enumerate(ordered):
        more = min(left // (len(ordered) - place), need.span)  # what one leaves of its share is the others'
        column.width = need.minimum + more
        left -= more


def rich_table(table: Table, is_whole: bool = False) -> Drawing:
    """Return a table as rich's renderable. No number is broken.

    Only a table with cells of two lines has a box. If `is_whole`, no cell is wrapped to a second line.
    """
    table = table.known
    is_headed = any(column.heading for column in table.columns)
    is_boxed = any(isinstance(cell, Estimate) and None not in (cell.sd, cell.low) for row in table.rows for cell in row)
    drawing = Drawing(
        title=printable(table.title) or None,
        caption=printable(table.caption) or None,
        header_style="bold",
        show_header=is_headed,
        show_lines=is_boxed,
        box=box.HEAVY_HEAD if is_boxed else box.SIMPLE_HEAD if is_headed else None,
        show_edge=is_boxed,
        pad_edge=is_boxed,
        padding=(0, 1) if is_boxed else (0, 1 if is_headed else 2, 0, 0),
    )
    for place, column in enumerate(table.columns):
        drawing.add_column(
            printable(column.heading),
            justify="left" if column.is_left_aligned else "right",
            overflow="fold",
            no_wrap=is_whole or column.is_whole,
            min_width=None if column.is_left_aligned else max((len(line) for line in _lines(table, place)), default=0),
            style="bold" if not is_headed and place == 0 else "",
        )
    for number, row in enumerate(table.texts):
        styles = ("bold" if table.is_bold(number, place) else "" for place in range(len(row)))
        drawing.add_row(*map(Text, map(printable, row), styles))
    return drawing


def _lines(table: Table, place: int) -> Iterator[str]:
    return (line for row in table.texts for line in row[place].split("\n"))


# The sections of a report on a terminal: each has a name, by which a person can ask for it.


@dataclass(frozen=True)
class Section:
    """A part of a report: `show` prints it on stdout, without its title, which is "" if it has none.

    `table` is its table; None for a drawing, a program or text.
    """

    name: str
    title: str
    show: Callable[[], None]
    table: Table | None = None


def of_tables(tables: Iterable[Table]) -> list[Section]:
    """Return a section for each table with rows, with the table's name and title."""
    return [
        Section(table.name, table.title, partial(show, [replace(table, title="")]), table)
        for table in tables
        if table.rows
    ]


def select_sections(sections: Iterable[Section], names: Collection[str]) -> list[Section]:
    """Return the sections that have one of these names, in the order of `sections`."""
    return [each for each in sections if each.name in names]


def show_sections(sections: Iterable[Section], headed_by: str | None = None) -> None:
    """Print sections with their titles on stdout, an empty line between two.

    Unless `headed_by` is None, it and the section's name stand before the title, in a line across the terminal.
    """
    for place, each in enumerate(sections):
        if place:
            show_lines("", [""])
        if headed_by is None:
            show_lines(each.title, ())
        else:
            more = f": {each.title}" if each.title not in ("", each.name) else ""
            show_heading(f"{headed_by}{each.name}{more}")
        each.show()


# Drawings of characters: a curve, a tree of groups.


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
