"""Logs runs as TensorBoard's event files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorboardX import SummaryWriter

from behavesim.application.trackers.tracking import Row


class TensorBoard:
    """A folder in which each run has a folder of event files."""

    def __init__(self, target: str) -> None:
        """`target` is the folder; it is made if it is missing."""
        self._folder = Path(target)
        self._writer: SummaryWriter | None = None

    def begin(self, run: str, settings: Mapping[str, str]) -> int:
        """Begin a new event file for the run, which hides what older files say, and return 0."""
        self._writer = SummaryWriter(str(self._folder / run), purge_step=0)
        self._writer.add_text("settings", "\n".join(f"- {name}: {text}" for name, text in settings.items()))
        return 0

    def log(self, rows: Sequence[Row]) -> None:
        """Add the rows' numbers as scalars, at their times."""
        assert self._writer is not None, "`begin` comes first"
        for row in rows:
            for name, value in row.values.items():
                self._writer.add_scalar(name, value, row.step, row.at)

    def end(self, facts: Mapping[str, str], program: str) -> None:
        """Add the facts and the program as texts, and close the file."""
        assert self._writer is not None, "`begin` comes first"
        for name, text in {**facts, "best program": f"```python\n{program}\n```" if program else ""}.items():
            self._writer.add_text(name, text)
        self._writer.close()
