"""What a terminal shows of tables."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout

import pytest
from rich.console import Console

from behavesim.analysis.table import Table
from behavesim.reports.sections import Section
from behavesim.reports.terminal import print_lines, rich_table, show_sections


def seen(tables: Iterable[Table], width: int = 100) -> str:
    """The tables as a person sees them on a terminal of that width."""
    file = io.StringIO()
    console = Console(file=file, width=width)
    for table in tables:
        print_lines(rich_table(table), console)
    return file.getvalue()


def seen_sections(sections: Iterable[Section], width: int = 100, headed_by: str | None = None) -> str:
    """The sections as a person reads them in a pipe of that width."""
    return printed(lambda: show_sections(sections, headed_by), width)


def printed(show: Callable[[], None], width: int = 100) -> str:
    """What a function prints on stdout where that is a pipe of that width."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.setenv("COLUMNS", str(width))
        show()
    return out.getvalue()
