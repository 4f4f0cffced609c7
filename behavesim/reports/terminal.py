"""Print tables, drawings and programs on a terminal, and show a progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from rich.console import Console
from rich.measure import Measurement, measure_renderables
from rich.table import Table as Drawing
from rich.text import Text

from behavesim.analysis.table import Estimate, Table
from behavesim.base.text import printable

Item = TypeVar("Item")

UNBOUNDED = 10_000
"""A width above that of any table, in characters: rich's measurements never exceed the given width."""


def screen(stderr: bool = False) -> Console:
    """Return a console that prints text as it is: rich would read brackets and colons in names as markup."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def show(tables: Iterable[Table]) -> None:
    """Print tables on stdout, one below the other; a table that is too wide is turned or split."""
    console = screen()
    for table in tables:
        for drawing in fitting(table, console):
            console.print(drawing)


def show_lines(title: str, lines: Iterable[str]) -> None:
    """Print a title and lines of text on stdout; long lines are not wrapped."""
    console = screen()
    console.print(Text(title, style="italic"))
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def width() -> int:
    """Return the width of stdout in characters: that of the terminal, or rich's default if it is none."""
    return screen().width


def show_text(text: str, language: str) -> None:
    """Print untrusted text, such as a program, on stdout: highlighted as `language` on a terminal, plain elsewhere.

    Control characters are shown as escapes. The colours are the terminal's own, which suit light and dark themes.
    """
    console, safe = screen(), printable(text.rstrip("\n"))
    if console.is_terminal:
        from rich.syntax import Syntax  # which loads a highlighter

        console.print(Syntax(safe, language, theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        console.file.write(f"{safe}\n")


def fitting(table: Table, console: Console) -> list[Drawing]:
    """Return a table as drawings that fit the console's width without breaking a word; one drawing if possible.

    A table that is too wide is split by columns into as few parts as possible. If it has one key column and more other
    columns than rows, its rows and columns are swapped first.
    """
    table = table.known

    def is_too_wide(part: Table) -> bool:
        anyhow = console.options.update(width=UNBOUNDED)
        return Measurement.get(console, anyhow, drawn(part)).minimum > console.width

    if len(table.columns) - 1 > len(table.rows) and table.keys == 1 and is_too_wide(table):
        table = table.turned
    last, ends = len(table.columns), [table.keys]
    for stop in range(table.keys + 2, last + 1):
        if is_too_wide(table.part(ends[-1], stop)):
            ends.append(stop - 1)
    parts = [table.part(start, stop) for start, stop in pairwise([*ends, last])]
    titled = [parts[0], *(replace(part, title=f"{part.title}, continued".removeprefix(", ")) for part in parts[1:])]
    drawings = [drawn(part if part is titled[-1] else replace(part, caption="")) for part in titled]
    for drawing in drawings:
        _give_room(drawing, console)
    return drawings


def _give_room(drawing: Drawing, console: Console) -> None:
    """Set each column's width: its longest word, then more room, first for the columns that need the least more.

    With rich's own widths, a column of long text would leave too little room for the numbers in others.
    """
    anyhow = console.options.update(width=UNBOUNDED)
    left = max(0, console.width - Measurement.get(console, anyhow, drawing).minimum)
    needs = [measure_renderables(console, anyhow, (column.header, *column.cells)) for column in drawing.columns]
    for column, need in sorted(zip(drawing.columns, needs, strict=True), key=lambda pair: pair[1].span):
        more = min(left, need.span)
        column.width = need.minimum + more
        left -= more


def drawn(table: Table) -> Drawing:
    """Return a table as rich's renderable; columns without any known value are left out."""
    table = table.known
    is_headed = any(column.heading for column in table.columns)
    drawing = Drawing(
        title=printable(table.title) or None,
        caption=printable(table.caption) or None,
        title_justify="left",
        header_style="bold",
        show_header=is_headed,
        show_lines=any(isinstance(cell, Estimate) and cell.sd is not None for row in table.rows for cell in row),
    )
    for place, column in enumerate(table.columns):
        drawing.add_column(
            printable(column.heading),
            justify="left" if column.is_left_aligned else "right",
            overflow="fold",
            no_wrap=column.is_whole,
            style="bold" if not is_headed and place == 0 else "",
        )
    for number, row in enumerate(table.texts):
        cells = (
            Text(printable(text), style="bold" if (number, place) in table.best else "")
            for place, text in enumerate(row)
        )
        drawing.add_row(*cells, style="bold" if number in table.marked else "")
    return drawing


def counted(items: Iterable[Item], total: int, doing: str) -> Iterator[Item]:
    """Yield the items; if stderr is a terminal, a bar counts them of `total`, with the text `doing` beside it."""
    from rich.progress import track

    console = screen(stderr=True)
    return iter(track(items, doing, total, console=console, transient=True, disable=not console.is_terminal))
