"""`behavesim settings`: every setting, its default and what it does."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from behavesim.config import described

from .options import AsJson, print_json


def settings(as_json: AsJson = False) -> None:
    """List every setting that --set and --config take."""
    rows = described()
    if as_json:
        print_json([{"setting": name, "default": default, "description": text} for name, default, text in rows])
        return
    table = Table()
    for name in ("setting", "default", ""):
        table.add_column(name, overflow="fold")
    for name, default, text in rows:
        table.add_row(name, default, text)
    Console().print(table)
