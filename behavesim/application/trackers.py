"""Logs runs to MLflow, Weights & Biases or TensorBoard from their journals, while they go on or afterwards.

The trackers' packages are extras: each is imported when its tracker is made.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from behavesim.base.errors import BehavesimError, JournalError, UsageError, nearest
from behavesim.base.notices import OFTEN_S, Sparing, on_stderr
from behavesim.base.text import one_line
from behavesim.base.tokens import Spending
from behavesim.proposers.prices import Prices
from behavesim.state.events import Added, Evaluated, Event, NotAdded, RunForked, RunStarted, RunStopped
from behavesim.state.settings import objective_of_run, settings_from_journal
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

# Number of candidates that are logged together: a tracker's call may take as long for one as for a hundred.
AT_ONCE = 100
# Seconds after a run's stop for which the process waits, before it ends, for a tracker to take the rest.
CLOSE_S = 10.0


@dataclass(frozen=True)
class Row:
    """Numbers of a run just after a candidate was registered; an unknown number is missing from `values`.

    `step` is the number of candidates registered so far, from 1 on. `at` is a time in seconds since 1970.
    """

    step: int
    at: float
    values: Mapping[str, float]


class Tracker(Protocol):
    """A place outside behavesim where a run is logged. Each method may be slow, hang, or raise any exception."""

    def begin(self, key: str, name: str, settings: Mapping[str, str]) -> int:
        """Open the log of the run with this `key`, or make it, and return its last step, 0 if none.

        Args:
            key: Hexadecimal digits, the same for one run wherever its folder is, and different for any other run.
            name: What people call the run: its folder's name, which other runs may have, too.
            settings: The run's settings as texts, by name.
        """

    def log(self, rows: Sequence[Row]) -> None:
        """Add rows in ascending order of steps; they come again if this raises, else none of them comes again."""

    def end(self, facts: Mapping[str, str], program: str) -> None:
        """Add facts on what the run found so far, by name, and its best program's text, "" for none; close the log."""


class Tracking:
    """Logs a run to a tracker from the run's journal.

    Passed to `behavesim.search` as `on_event`, it logs a run while that goes on, in a thread of its own. A tracker that
    fails or hangs does not end the search or slow it down. A line on stderr and in the run's log says so, once a minute
    at most. What the tracker did not take is sent again with what comes next; `behavesim export` adds it afterwards.
    """

    def __init__(self, tracker: Tracker, folder: RunFolder) -> None:
        """`folder` is the run's folder, which need not exist yet; a log of the same run is continued."""
        self._tracker = tracker
        self._name = type(tracker).__name__.lower()
        self._folder = folder
        self._sending = threading.Lock()  # held by whoever reads the journal and calls the tracker
        self._is_open = False
        self._forget()
        self._new = 0  # candidates registered since the thread was last asked to log
        self._asking = threading.Lock()  # guards the three below, which the search and the thread share
        self._asked: bool | None = None  # for another round: False to log, True to close too, None for nothing
        self._thread: threading.Thread | None = None
        self._since = 0.0  # when the thread began its round, by `time.monotonic`
        self._say_sparingly = Sparing(self._say, time.monotonic)

    def _forget(self) -> None:
        """Begin again at the journal's first event: a log that is opened again says which steps it holds."""
        self._state: RunState | None = None  # as of the last event read; None before the first
        self._read = 0
        self._waiting: list[Row] = []  # rows that the tracker has not taken yet
        self._scores: dict[int, float] = {}
        self._prices = Prices({})
        self._key = hashlib.sha256()

    def __call__(self, event: Event, state: RunState) -> None:
        """Log the journal after AT_ONCE registrations, and when the run stops; return at once; raise nothing."""
        self._new += isinstance(event, Added | NotAdded)
        is_stop = isinstance(event, RunStopped)
        if self._new < AT_ONCE and not is_stop:
            return
        self._new = 0
        with self._asking:
            self._asked = is_stop or bool(self._asked)
            silent_s = time.monotonic() - self._since
            is_idle = self._thread is None
            if is_idle:
                # a daemon, since a thread in a client that hangs would keep the process from ending
                self._thread, self._since = threading.Thread(target=self._log_as_asked, daemon=True), time.monotonic()
                self._thread.start()
            thread = self._thread
        if not is_idle and silent_s >= OFTEN_S:
            self._tell(self._lacking(f"has not answered for {silent_s:.0f} s"))
        if is_stop and thread is not None:
            # the interpreter waits for threads that are no daemons: this one bounds how long it waits for the other
            threading.Thread(target=self._wait_for, args=(thread,)).start()

    def log(self) -> None:
        """Log what the journal holds and the tracker does not; raises BehavesimError if one of them fails."""
        with self._sending:
            self._log()

    def close(self) -> None:
        """Log what is left and what the run found so far, and close the log; raises as `log` does."""
        with self._sending:
            self._log()
            if self._is_open and self._state is not None:
                state = self._state
                facts = {"stopped_by": state.stopped or "", "digest": state.digest(), "isolation": state.isolation}
                with self._failures_named():
                    self._tracker.end(facts, "" if state.leader is None else state.leader.source)
                self._is_open = False
                self._forget()

    def _log_as_asked(self) -> None:
        while True:
            with self._asking:
                if self._asked is None:
                    self._thread = None  # under the lock: whoever asks next begins another thread
                    return
                closes, self._asked = self._asked, None
                self._since = time.monotonic()
            try:
                self.close() if closes else self.log()
            except BehavesimError as error:
                self._tell(str(error))

    def _wait_for(self, thread: threading.Thread) -> None:
        thread.join(CLOSE_S)
        if thread.is_alive():
            self._say(self._lacking(f"has not taken all of the run {CLOSE_S:g} s after its end"))

    def _tell(self, what: str) -> None:
        self._say_sparingly("notice", f"{what}; the search goes on")

    def _lacking(self, what: str) -> str:
        command = f"behavesim export {self._folder.argument} --{self._name} …"
        return f"{self._name} {what}; `{command}` adds what it lacks"

    def _say(self, line: str) -> None:
        on_stderr(line)
        with suppress(JournalError):  # a log that cannot be written ends nothing
            self._folder.note(line)

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a tracker raises what it likes: else nobody would say how to add what it lacks
            said = one_line(f"{type(error).__name__}: {error}", 300)
            raise BehavesimError(self._lacking(f"did not take all of the run ({said})")) from error

    # From the journal, not from the events passed in: so a run that ended is logged by the same code.
    def _log(self) -> None:
        for _, at, event in read_events(self._folder.journal, after=self._read):
            self._take(at, event)
            self._read += 1
        if self._state is None or self._state.started is None:
            return
        with self._failures_named():
            if not self._is_open:
                texts = {name: str(value) for name, value in self._state.started.settings.items()}
                held = self._tracker.begin(self._key.hexdigest()[:32], self._folder.run, texts)
                self._waiting = [row for row in self._waiting if row.step > held]
                self._is_open = True
            while self._waiting:
                self._tracker.log(self._waiting[:AT_ONCE])
                del self._waiting[:AT_ONCE]  # only now: rows that a tracker refuses are sent again

    def _take(self, at: float, event: Event) -> None:
        if isinstance(event, RunStarted | RunForked):
            settings = dict(event.settings)
            self._prices = Prices.named(settings_from_journal(settings).prices)
            # The folder's name is no key: two folders may hold runs of one name, and a folder may be renamed. A fork
            # has the events of its source, so its key needs those of RunForked, too.
            self._key.update(f"{type(event).__name__} {at!r} {json.dumps(settings, sort_keys=True)}\n".encode())
        if self._state is None:
            self._state = RunState(objective_of_run(event.provenance if isinstance(event, RunStarted) else {}))
        state, before = self._state, self._state.registered
        state.apply(event)
        if isinstance(event, Evaluated):
            self._scores[event.candidate] = event.score
        if state.registered > before:
            self._waiting.append(Row(state.registered, at, self._values(state)))

    def _values(self, state: RunState) -> dict[str, float]:
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


# The name of the MLflow experiment that holds all runs.
EXPERIMENT = "behavesim"
# Name of the tag that holds a run's key; `begin` finds the log of a run by it.
KEY = "behavesim.key"
# Name of the tag that holds a run's name.
RUN = "behavesim.run"
# Number of characters to which the text of a parameter is cut: MLflow refuses more than 6000.
LONGEST = 5000
# Largest number of metrics in one call, because MLflow refuses more; further metrics take further calls.
MOST = 1000


class MLflow:
    """A `Tracker` that logs runs to an MLflow store."""

    def __init__(self, target: str) -> None:
        """`target` is a tracking URI such as "sqlite:///mlflow.db" or "http://HOST:5000", or a folder."""
        from mlflow import MlflowClient, entities

        self._client = MlflowClient(tracking_uri=target)
        self._entities = entities
        self._id = ""

    def begin(self, key: str, name: str, settings: Mapping[str, str]) -> int:
        """Open the MLflow run whose tag KEY is `key`, or create it as `name`; return its last step, 0 for a new one."""
        known = self._client.get_experiment_by_name(EXPERIMENT)
        experiment = self._client.create_experiment(EXPERIMENT) if known is None else known.experiment_id
        found: Sequence[Any] = self._client.search_runs([experiment], f"tags.`{KEY}` = '{key}'")
        if found:
            run = found[0]
            self._client.update_run(run.info.run_id, status="RUNNING")
        else:
            run = self._client.create_run(experiment, tags={KEY: key, RUN: name}, run_name=name)
        self._id = run.info.run_id
        if not run.data.params:  # new, or the server failed just after it was made
            params = [self._entities.Param(setting, text[:LONGEST]) for setting, text in settings.items()]
            self._client.log_batch(self._id, params=params)
        if not found:
            return 0
        return max((each.step for each in self._client.get_metric_history(self._id, "feasible")), default=0)

    def log(self, rows: Sequence[Row]) -> None:
        """Add each number of the rows as a metric, at the row's step and time."""
        metrics = [
            self._entities.Metric(name, value, round(1000 * row.at), row.step)
            for row in rows
            for name, value in row.values.items()
        ]
        for first in range(0, len(metrics), MOST):
            self._client.log_batch(self._id, metrics=metrics[first : first + MOST])

    def end(self, facts: Mapping[str, str], program: str) -> None:
        """Add the facts as tags `behavesim.NAME` and the program as the artifact `best.py`; finish the MLflow run."""
        for name, text in facts.items():
            self._client.set_tag(self._id, f"behavesim.{name}", text)
        if program:
            self._client.log_text(self._id, program, "best.py")
        self._client.set_terminated(self._id)


class WandB:
    """A Weights & Biases run, written offline into the folder `wandb` of the current directory.

    `wandb sync` then sends it to the project `target`.
    """

    def __init__(self, target: str) -> None:
        """`target` is the project to which `wandb sync` will add the run."""
        import wandb

        self._wandb = wandb
        self._project = target
        self._run: Any = None

    def begin(self, key: str, name: str, settings: Mapping[str, str]) -> int:
        """Begin an offline run with the key as its id, and return 0; `wandb sync` overwrites what it has."""
        self._run = self._wandb.init(
            project=self._project,
            id=key,
            name=name,
            resume="allow",
            config=dict(settings),
            mode="offline",
            settings=self._wandb.Settings(silent=True),
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


class TensorBoard:
    """A `Tracker` that writes the event files of each run into a folder of its own, NAME-KEY."""

    def __init__(self, target: str) -> None:
        """`target` is the folder of the runs' folders; `begin` makes it if it is missing."""
        from tensorboardX import SummaryWriter

        self._open = SummaryWriter
        self._folder = Path(target)
        self._writer: SummaryWriter | None = None

    def begin(self, key: str, name: str, settings: Mapping[str, str]) -> int:
        """Begin a new event file for the run, and return 0, so that all rows are logged again.

        TensorBoard then hides the rows of the run's older files. The folder of a run that was renamed keeps its name.
        """
        short = key[:8]
        known = sorted(self._folder.glob(f"*-{short}"))
        folder = known[0] if known else self._folder / f"{name}-{short}"
        self._writer = self._open(str(folder), purge_step=0)
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


# What makes each tracker from its target, by the tracker's name.
TRACKERS: Mapping[str, Callable[[str], Tracker]] = {"mlflow": MLflow, "wandb": WandB, "tensorboard": TensorBoard}


def track(tracker: str, target: str, run: str | Path) -> Tracking:
    """Return an object that logs a run to a tracker while the run goes on, if `behavesim.search` gets it as `on_event`.

    A tracker that fails or hangs neither ends nor slows the search; `behavesim export` adds what it lacks. The method
    `close` logs what the journal holds now, and waits for the tracker.

    Args:
        tracker: "mlflow", "wandb" or "tensorboard".
        target: MLflow's tracking URI or folder, the project of Weights & Biases, or TensorBoard's folder.
        run: The run's folder, which need not exist yet.

    Raises UsageError if there is no such tracker, or if its package is not installed.
    """
    if tracker not in TRACKERS:
        raise UsageError(f"there is no tracker {tracker!r}; {nearest(tracker, TRACKERS) or ', '.join(TRACKERS)}")
    try:
        made = TRACKERS[tracker](target)
    except ImportError as error:
        raise UsageError(f'{tracker} is not installed ({error}); pip install "behavesim[{tracker}]"') from None
    return Tracking(made, RunFolder(Path(run)))
