"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what would end a cell or begin a tag is written so that it does not."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def cell(text: str) -> str:
    """A text as a cell."""
    return (
        " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")
    )
