"""The sections of a report on a terminal: each has a name, by which a person can ask for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from behavesim.analysis.table import Table
from behavesim.reports.terminal import show, show_heading, show_lines


@dataclass(frozen=True)
class Section:
    """A part of a report: `show` prints it on stdout; `table` is its table, None for a drawing, a program or text."""

    name: str
    show: Callable[[], None]
    table: Table | None = None


def of_tables(tables: Iterable[Table]) -> list[Section]:
    """Return a section for each table, with the table's name; tables without rows are left out."""
    return [Section(table.name, _showing(table), table) for table in tables if table.rows]


def named_sections(sections: Iterable[Section], names: Collection[str]) -> list[Section]:
    """Return the sections that have one of these names, in their order."""
    return [each for each in sections if each.name in names]


def show_sections(sections: Iterable[Section], headed_by: str | None = None) -> None:
    """Print sections on stdout, an empty line between two; unless `headed_by` is None, each below it and its name."""
    for place, each in enumerate(sections):
        if place:
            show_lines("", [""])
        if headed_by is not None:
            show_heading(f"{headed_by}{each.name}")
        each.show()


def _showing(table: Table) -> Callable[[], None]:
    return lambda: show([table])
