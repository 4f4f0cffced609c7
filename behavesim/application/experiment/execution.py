"""Carry out the runs of an experiment side by side; runs that were begun before are resumed."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.application.experiment.plan import Planned
from behavesim.base.config import differences
from behavesim.base.errors import UsageError
from behavesim.engine.judging import shared_cluster
from behavesim.reports.words import clock, named
from behavesim.state.settings import settings_from_journal
from behavesim.store.database import progress
from behavesim.store.folder import RunFolder


def unfinished(planned: Sequence[Planned], runs_dir: Path) -> list[Planned]:
    """Return the runs that still have to be made, resumed, or given a recommended program.

    Raises UsageError if one was made under other settings than planned, JournalError if a journal cannot be read.
    """
    return [run for run in planned if not _is_finished(run, RunFolder(runs_dir / run.name))]


def _is_finished(run: Planned, folder: RunFolder) -> bool:
    """Whether a run has used its budget and made its recommendation, if it makes one; raises what `unfinished` does."""
    if not folder.journal.exists():
        return False
    if moved := differences(settings_from_journal(folder.read_settings()), run.settings):
        listed = ", ".join(f"{key} was {then!r} and is {now!r}" for key, (then, now) in moved.items())
        raise UsageError(f"the run {run.name} was made under other settings: {listed}; rename the experiment")
    found = progress(folder.journal)
    return found.registered >= run.settings.budget and (found.recommended or not run.settings.recommend)


class Execution:
    """Makes or resumes each planned run in a process of its own, whose output goes to `NAME.log` beside its folder."""

    def __init__(
        self, planned: Sequence[Planned], runs_dir: Path, jobs: int, workers: int | str, tell: Callable[[str], None]
    ) -> None:
        """`jobs` runs go on at once. Each evaluates `workers` programs at once, or all share the cluster of that name.

        `runs_dir` is the folder of the runs' folders; it is made if it is missing. `tell` gets a line when a run ends.
        """
        self._planned = planned
        self._runs_dir = runs_dir
        self._jobs = jobs
        self._workers = workers
        self._tell = tell
        self._free = asyncio.Semaphore(jobs)
        self._living: set[Process] = set()
        self._is_ending = False
        self._took: list[float] = []  # seconds of each run that has ended
        self._failed: list[str] = []
        self._environment: dict[str, str] = {}  # of the runs' processes

    async def run(self) -> list[str]:
        """Make every run and return the sorted names of those whose process ended with another exit code than 0.

        A run that `end` stopped, or kept from beginning, is not named. When cancelled, it asks every run to stop, waits
        for them, and then raises CancelledError.
        """
        _make_writable(self._runs_dir)
        async with shared_cluster(self._workers) as variables:
            self._environment = {**os.environ, **variables}
            working = asyncio.gather(*map(self._one, self._planned))
            try:
                await asyncio.shield(working)  # a cancellation must not kill the runs, which end in order below
            except asyncio.CancelledError:
                self.end()
                await working
                raise
        return sorted(self._failed)

    def end(self) -> None:
        """Begin no more runs, and ask the running ones to stop; a second call stops them without their paid replies."""
        self._is_ending = True
        for process in self._living:
            _end(process)

    async def _one(self, run: Planned) -> None:
        """Make a run as soon as there is a place for it, and tell how it ended; nothing is begun after `end`."""
        async with self._free:
            if self._is_ending:
                return
            began = time.monotonic()
            code = await self._carried_out(run)
        if code and self._is_ending:
            self._tell(f"{run.name}: interrupted")
            return
        if code:
            self._failed.append(run.name)
        self._took.append(time.monotonic() - began)
        self._tell(f"{len(self._took)}/{len(self._planned)} {run.name}: {self._said(run, code)}{self._left()}")

    async def _carried_out(self, run: Planned) -> int:
        """Make or resume a run in a process of its own and return its exit code, below 0 if a signal ended it."""
        folder = self._runs_dir / run.name
        settings = {**run.settings.flat(), "workers": self._workers}
        with folder.with_name(f"{run.name}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                # -P: as in the command, a person's random.py in this folder is not Python's
                *(sys.executable, "-P", "-m", "behavesim.application.experiment.process"),
                stdin=PIPE,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,  # a Ctrl-C reaches this process alone, which passes it on
            )
            self._living.add(process)
            if self._is_ending:  # `end` was called while this process was starting
                _end(process)
            order = {"parent": os.getpid(), "folder": str(folder), "settings": settings}
            await process.communicate(json.dumps(order).encode())
            self._living.discard(process)
        return await process.wait()

    def _said(self, run: Planned, code: int) -> str:
        """Return how a run ended, by the exit code `code` of its process; what it found, if that is 0."""
        if code:
            return f"ended with exit code {code}; see {self._runs_dir / run.name}.log"
        made = Run.load(self._runs_dir / run.name)
        best = None if made.best is None else made.state.leader
        found = "nothing feasible" if best is None else f"best {best.score:.6g} ({named(best.candidate)})"
        return found if made.state.stopped == "budget" else f"stopped by {made.state.stopped}, {found}"

    def _left(self) -> str:
        """Return the time that the remaining runs probably take, as text; "" if none is left."""
        left = len(self._planned) - len(self._took)
        each_s = sum(self._took) / len(self._took)
        return f", about {clock(each_s * left / min(left, self._jobs))} left" if left else ""


def _end(process: Process) -> None:
    """Send SIGTERM to a process, unless it has ended."""
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)


def _make_writable(folder: Path) -> None:
    """Make a folder if it is missing; raises UsageError if that fails, or if no files can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; choose another --runs-dir") from None
