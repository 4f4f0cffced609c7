"""What a terminal shows of tables."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console

from behavesim.analysis.table import Table
from behavesim.reports.terminal import drawn


def seen(tables: Iterable[Table], width: int = 100) -> str:
    """The tables as a person sees them on a terminal of that width."""
    file = io.StringIO()
    console = Console(file=file, width=width)
    for table in tables:
        console.print(drawn(table))
    return file.getvalue()
