"""The numbers that a tracker is given about a run, and the methods that each tracker has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Row:
    """Numbers of a run after a candidate was registered; one that is unknown is missing from `values`.

    `step` is the number of candidates registered so far, from 1 on. `at` is a time in seconds since 1970.
    """

    step: int
    at: float
    values: Mapping[str, float]


class Tracker(Protocol):
    """A place outside behavesim where a run is logged. Each method may be slow, so it is called rarely."""

    def begin(self, run: str, settings: Mapping[str, str]) -> int:
        """Open the log of a run by the run's name, and return the last step that it holds already, 0 if none."""

    def log(self, rows: Sequence[Row]) -> None:
        """Add rows, in ascending order of steps that the log does not hold yet."""

    def end(self, facts: Mapping[str, str], program: str) -> None:
        """Add what the run found so far, by name, and its best program, "" if there is none; then close the log."""
