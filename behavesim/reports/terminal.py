"""Prints tables, drawings and programs on a terminal, in sections that a person can ask for by name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, ConsoleDimensions
from rich.measure import Measurement, measure_renderables
from rich.table import Table as Drawing
from rich.text import Text

from behavesim.analysis.table import Estimate, Table
from behavesim.base.text import printable, wrap

if TYPE_CHECKING:
    from behavesim.reports.sections import Section

# A width above that of any table, in characters: rich's measurements never exceed the given width.
UNBOUNDED = 10_000
# Least characters to which a name is shortened; names of runs would no longer differ in fewer.
SHORTEST = 16
# Largest width of a curve or a tree, in characters: a wider one would not say more.
WIDEST = 100
# Columns of a list of runs that are left out in this order where a terminal has no room for all.
DISPENSABLE = ("seed", "asked", "method", "note", "task", "gap")
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


# The sections of a report on a terminal.


def show_sections(sections: Iterable[Section], headed_by: str | None = None) -> None:
    """Print sections with their titles on stdout, an empty line between two.

    Unless `headed_by` is None, it and the section's name stand before the title, in a line across the terminal.
    """
    for place, each in enumerate(sections):
        if place:
            show_lines("", [""])
        if headed_by is not None:
            more = f": {each.title}" if each.title not in ("", each.name) else ""
            show_heading(f"{headed_by}{each.name}{more}")
        elif each.title:
            show_lines(each.title, ())
        _show_section(each)


def _show_section(section: Section) -> None:
    if section.language == "python":
        show_text(section.text, section.language)
        show_lines("", [section.note] if section.note else ())
    elif section.text and section.language:
        lines = section.text.splitlines()
        is_fitting = max(map(len, lines)) <= width()  # else the words behind a command are left out
        show_lines("", lines if is_fitting else [line.partition("  #")[0].rstrip() for line in lines])
    elif section.text:
        show_sentences(section.text.splitlines())
    elif not section.charts and section.note:  # beside a chart it is about what a page draws
        show_sentences([section.note])
    for chart in section.charts:
        if chart.drawn is not None:
            show_lines("", chart.drawn(min(WIDEST, width())))
    if section.charts and section.tables:
        show_lines("", [""] if any(chart.drawn for chart in section.charts) else ())
    tables = [replace(each, title="" if each.title == section.title else each.title) for each in section.tables]
    if section.name == "runs":
        show_rows(tables[0], DISPENSABLE)
    else:
        show(table for table in tables if table.rows)
