"""Tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table as Drawing
from rich.text import Text

from behavesim.analysis.table import WORDS, Cell, Column, Estimate, Table
from behavesim.text import printable


def show(tables: Iterable[Table]) -> None:
    """Print tables on stdout, one below the other."""
    console = Console()
    for table in tables:
        console.print(drawn(table))


def drawn(table: Table) -> Drawing:
    """A table as rich draws it; a column of which nothing is known is left out."""
    shown = [place for place in range(len(table.columns)) if _is_known(table, place)]
    columns = [table.columns[place] for place in shown]
    is_headed = any(column.heading for column in columns)
    drawing = Drawing(
        title=table.title or None,
        caption=table.caption or None,
        title_justify="left",
        header_style="bold",
        show_header=is_headed,
        show_lines=any(isinstance(cell, Estimate) and cell.sd is not None for row in table.rows for cell in row),
    )
    for place, column in enumerate(columns):
        drawing.add_column(
            column.heading,
            justify="left" if column.unit is WORDS else "right",
            overflow="fold",
            style="bold" if not is_headed and place == 0 else "",
        )
    for number, row in enumerate(table.rows):
        cells = (printable(text(row[place], table.columns[place])) for place in shown)
        drawing.add_row(*map(Text, cells), style="bold" if number in table.marked else "")
    return drawing


def text(cell: Cell, column: Column) -> str:
    """What stands in a cell; nothing where it is unknown."""
    if not isinstance(cell, Estimate):
        return column.unit.text(cell)
    unit = cell.unit or column.unit
    mean = unit.text(cell.mean) if cell.known is None else f"of {cell.known}: {unit.text(cell.mean)}"
    spread = "" if cell.sd is None else f" ± {unit.text(cell.sd)}"
    interval = "" if cell.low is None else f"[{unit.text(cell.low)}, {unit.text(cell.high)}]"
    return f"{mean}{spread}\n{interval}" if spread else f"{mean} {interval}".rstrip()


def _is_known(table: Table, place: int) -> bool:
    return not table.rows or any(row[place] is not None for row in table.rows)
