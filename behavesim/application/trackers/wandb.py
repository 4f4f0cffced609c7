"""Logs runs to Weights & Biases, offline: nothing is sent until a person calls `wandb sync`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import wandb

from behavesim.application.trackers.tracking import Row


class WandB:
    """A Weights & Biases run, written offline into the folder `wandb` of the current directory.

    `wandb sync` then sends it to the project `target`.
    """

    def __init__(self, target: str) -> None:
        """`target` is the project to which `wandb sync` will add the run."""
        self._project = target
        self._run: Any = None

    def begin(self, key: str, name: str, settings: Mapping[str, str]) -> int:
        """Begin an offline run with the key as its id, and return 0; `wandb sync` overwrites what it has."""
        self._run = wandb.init(
            project=self._project,
            id=key,
            name=name,
            resume="allow",
            config=dict(settings),
            mode="offline",
            settings=wandb.Settings(silent=True),
        )
        return 0

    def log(self, rows: Sequence[Row]) -> None:
        """Add the numbers of the rows at their steps, and each row's time (seconds since 1970) as `time`."""
        for row in rows:
            self._run.log({**row.values, "time": row.at}, step=row.step)

    def end(self, facts: Mapping[str, str], program: str) -> None:
        """Add the facts and the program ("" for none) to the summary, and finish the offline run."""
        self._run.summary.update({**facts, "best_program": program})
        self._run.finish()
