"""The sections of a report on a terminal: each has a name, by which a person can ask for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial

from behavesim.analysis.table import Table
from behavesim.reports.terminal import show, show_heading, show_lines


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
    """Return a section for each table, with the table's name and title; tables without rows are left out."""
    return [
        Section(table.name, table.title, partial(show, [replace(table, title="")]), table)
        for table in tables
        if table.rows
    ]


def named_sections(sections: Iterable[Section], names: Collection[str]) -> list[Section]:
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
