"""Logs runs as TensorBoard's event files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorboardX import SummaryWriter

from behavesim.application.trackers.tracking import Row


class TensorBoard:
    """A `Tracker` that writes the event files of each run into a folder of its own, NAME-KEY."""

    def __init__(self, target: str) -> None:
        """`target` is the folder of the runs' folders; `begin` makes it if it is missing."""
        self._folder = Path(target)
        self._writer: SummaryWriter | None = None

    def begin(self, key: str, name: str, settings: Mapping[str, str]) -> int:
        """Begin a new event file for the run, and return 0, so that all rows are logged again.

        TensorBoard then hides the rows of the run's older files. The folder of a run that was renamed keeps its name.
        """
        short = key[:8]
        known = sorted(self._folder.glob(f"*-{short}"))
        folder = known[0] if known else self._folder / f"{name}-{short}"
        self._writer = SummaryWriter(str(folder), purge_step=0)
        self._writer.add_text("settings", "\n".join(f"- {setting}: {text}" for setting, text in settings.items()))
        return 0

    def log(self, rows: Sequence[Row]) -> None:
        """Add each number of the rows as a scalar, at the row's step and time."""
        assert self._writer is not None, "`begin` comes first"
        for row in rows:
            for name, value in row.values.items():
                self._writer.add_scalar(name, value, row.step, row.at)

    def end(self, facts: Mapping[str, str], program: str) -> None:
        """Add the facts and the best program as texts, and close the file; `program` is "" if there is none."""
        assert self._writer is not None, "`begin` comes first"
        for name, text in {**facts, "best program": f"```python\n{program}\n```" if program else ""}.items():
            self._writer.add_text(name, text)
        self._writer.close()
