"""Logs runs to trackers from their journals: the same code does so while a run goes on and afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from behavesim.base.errors import UsageError, nearest
from behavesim.base.tokens import Spending
from behavesim.proposers.prices import Prices
from behavesim.state.events import Added, Evaluated, Event, NotAdded, RunForked, RunStarted, RunStopped
from behavesim.state.provenance import recorded_objective
from behavesim.state.settings import settings_from_journal
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

TRACKERS: Mapping[str, str] = {"mlflow": "MLflow", "wandb": "WandB", "tensorboard": "TensorBoard"}
"""The name of each tracker's class, by the tracker's name; its module in this package has the same name."""
AT_ONCE = 100
"""Number of candidates that are logged together: each call of a tracker takes milliseconds in which a search waits."""


@dataclass(frozen=True)
class Row:
    """Numbers of a run just after a candidate was registered; an unknown number is missing from `values`.

    `step` is the number of candidates registered so far, from 1 on. `at` is a time in seconds since 1970.
    """

    step: int
    at: float
    values: Mapping[str, float]


class Tracker(Protocol):
    """A place outside behavesim where a run is logged. Each method may be slow, so it is called rarely."""

    def begin(self, run: str, settings: Mapping[str, str]) -> int:
        """Open the log of the run of this name and return its last step, 0 if none; `settings` are texts by name."""

    def log(self, rows: Sequence[Row]) -> None:
        """Add rows in ascending order of steps; the log does not hold any of these steps yet."""

    def end(self, facts: Mapping[str, str], program: str) -> None:
        """Add facts on what the run found so far, by name, and its best program's text, "" for none; close the log."""


class Tracking:
    """Logs a run to a tracker from the run's journal.

    Passed to `behavesim.search` as `on_event`, it logs a run while that goes on.
    """

    def __init__(self, tracker: Tracker, folder: RunFolder) -> None:
        """`folder` is the run's folder, whose name is the log's name; a log of this name is continued."""
        self._tracker = tracker
        self._folder = folder
        self._state: RunState | None = None  # as of the last event read; None before the first
        self._read = 0
        self._held = 0
        self._is_open = False
        self._scores: dict[int, float] = {}
        self._prices = Prices({})
        self._new = 0

    def __call__(self, event: Event, state: RunState) -> None:
        """Take note of an event: log the journal after each AT_ONCE registrations, and when the run stops.

        `state` is ignored. Raises JournalError if the journal cannot be read.
        """
        self._new += isinstance(event, Added | NotAdded)
        if self._new >= AT_ONCE:
            self.log()
        if isinstance(event, RunStopped):
            self.close()

    def log(self) -> None:
        """Log what the journal holds and the tracker does not; raises JournalError if the journal cannot be read."""
        self._new = 0
        rows: list[Row] = []
        for _, at, event in read_events(self._folder.journal, after=self._read):
            rows += self._rows(at, event)
            self._read += 1
        for first in range(0, len(rows), AT_ONCE):
            self._tracker.log(rows[first : first + AT_ONCE])

    def close(self) -> None:
        """Log what is left and what the run found so far, and close the log.

        Raises JournalError if the journal cannot be read.
        """
        self.log()
        if self._is_open and self._state is not None:
            state = self._state
            facts = {"stopped_by": state.stopped or "", "digest": state.digest(), "isolation": state.isolation}
            self._tracker.end(facts, "" if state.leader is None else state.leader.source)
            self._is_open = False

    def _rows(self, at: float, event: Event) -> list[Row]:
        """Apply the next event, committed at `at` (seconds since 1970); return the row of the candidate it registers.

        The list is empty if the event registers no candidate, or if the tracker has the row already.
        """
        if isinstance(event, RunStarted | RunForked):
            self._prices = Prices.named(settings_from_journal(event.settings).prices)
        if self._state is None:
            self._state = RunState(recorded_objective(event.provenance if isinstance(event, RunStarted) else {}))
        state, before = self._state, self._state.registered
        state.apply(event)
        if isinstance(event, Evaluated):
            self._scores[event.candidate] = event.score
        if not self._is_open and state.started is not None:
            texts = {name: str(value) for name, value in state.started.settings.items()}
            self._held, self._is_open = self._tracker.begin(self._folder.run, texts), True
        if state.registered == before:
            return []
        row = Row(state.registered, at, self._values(state))
        return [row] if row.step > self._held else []

    def _values(self, state: RunState) -> dict[str, float]:
        """Return the numbers after the last registration, without those that are unknown."""
        spent, best = Spending.of(state.tally.tokens, self._prices.cost), state.best
        found: dict[str, float | None] = {
            "score": self._scores.pop(state.registered - 1, None),
            "best_score": None if best is None else best.score,
            "best_gap": None if best is None else state.objective.gap(best.score),
            "feasible": state.tally.feasible,
            "rejected": state.tally.rejected.total(),
            "prompt_tokens": spent.prompt,
            "completion_tokens": spent.completion,
            "cost_usd": spent.cost_usd,
            "cpu_s": state.tally.cpu_s,
        }
        return {name: float(value) for name, value in found.items() if value is not None}


def track(tracker: str, target: str, run: str | Path) -> Tracking:
    """Return an object that logs a run to a tracker while the run goes on, if `behavesim.search` gets it as `on_event`.

    Its method `log` logs what the journal holds now. `tracker` is "mlflow", "wandb" or "tensorboard". `target` is
    MLflow's tracking URI or folder, the project of Weights & Biases, or TensorBoard's folder. `run` is the run's
    folder, which need not exist yet. Raises UsageError if there is no such tracker, or if its package is not installed.
    """
    if tracker not in TRACKERS:
        raise UsageError(f"there is no tracker {tracker!r}; {nearest(tracker, TRACKERS) or ', '.join(TRACKERS)}")
    try:
        module = import_module(f"behavesim.application.trackers.{tracker}")
    except ImportError as error:
        raise UsageError(f'{tracker} is not installed ({error}); pip install "behavesim[{tracker}]"') from None
    return Tracking(getattr(module, TRACKERS[tracker])(target), RunFolder(Path(run)))
