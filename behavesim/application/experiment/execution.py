"""Carries out the runs of an experiment side by side, resumes those that were begun, and compares them."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from behavesim.analysis.comparison import RunComparison, comparison
from behavesim.analysis.metrics import Metric
from behavesim.analysis.run import Run
from behavesim.application import session
from behavesim.application.console import show_search
from behavesim.application.evaluation import reports_of
from behavesim.application.experiment.plan import Experiment, Planned
from behavesim.base.config import differences
from behavesim.base.errors import INTERRUPTED, BehavesimError, UsageError
from behavesim.base.text import printable
from behavesim.engine.build import Launch, start_shared_cluster
from behavesim.reports.files import json_document, write_csv
from behavesim.reports.page.html import write_comparison
from behavesim.reports.words import clock, program_name
from behavesim.sandbox.processes import die_with_parent
from behavesim.state.settings import settings_from_journal
from behavesim.store.database import is_spent, progress
from behavesim.store.folder import RunFolder, as_journal_errors
from behavesim.task import TaskReference, instances_of


def unfinished_runs(planned: Sequence[Planned], runs_dir: Path) -> list[Planned]:
    """Return the runs that still have to be made, resumed, or given a recommended program.

    Raises UsageError if one was made under other settings than planned.
    """
    return [run for run in planned if not _is_finished(run, RunFolder(runs_dir / run.name))]


def _is_finished(run: Planned, folder: RunFolder) -> bool:
    if not folder.journal.exists():
        return False
    if moved := differences(settings_from_journal(folder.read_settings()), run.settings):
        listed = ", ".join(f"{key} was {then!r} and is {now!r}" for key, (then, now) in moved.items())
        raise UsageError(f"the run {run.name} was made under other settings: {listed}; rename the experiment")
    settings = run.settings
    if not is_spent(folder.journal, settings.budget, settings.tune > 0):
        return False
    if not settings.recommend or progress(folder.journal).recommended:
        return True
    return not len(instances_of(TaskReference(settings.task).load(), "validation"))


class Execution:
    """Makes or resumes each planned run in a process of its own, whose output goes to `NAME.log` beside its folder."""

    def __init__(
        self, planned: Sequence[Planned], runs_dir: Path, jobs: int, workers: int | str, tell: Callable[[str], None]
    ) -> None:
        """`jobs` runs go on at once. Each evaluates `workers` programs at once, or all share the cluster of that name.

        `tell` gets a line when a run ends.
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
        """Make every run and return the sorted names of those that failed, without those that `end` stopped.

        When cancelled, it asks every run to stop, waits for them, and then raises CancelledError.
        """
        _make_writable(self._runs_dir)
        async with start_shared_cluster(self._workers) as variables:
            self._environment = {**os.environ, **variables}
            working = asyncio.gather(*map(self._make_run, self._planned))
            try:
                await asyncio.shield(working)  # a cancellation must not kill the runs, which end in order below
            except asyncio.CancelledError:
                self.end()
                await working
                raise
        return sorted(self._failed)

    def end(self) -> None:
        """Begin no more runs, and ask the running ones to stop; a second call stops them without their paid replies."""
        self._is_ending = True  # first: a run that is just starting looks at it once its process is known
        for process in self._living:
            _end(process)

    async def _make_run(self, run: Planned) -> None:
        async with self._free:
            if self._is_ending:
                return
            began = time.monotonic()
            code = await self._run_process(run)
        if code and self._is_ending:
            self._tell(f"{run.name}: interrupted")
            return
        if code:
            self._failed.append(run.name)
        self._took.append(time.monotonic() - began)
        self._tell(
            f"{len(self._took)}/{len(self._planned)} {run.name}: {self._result_text(run, code)}{self._time_left()}"
        )

    async def _run_process(self, run: Planned) -> int:
        """Make or resume a run in a process of its own and return its exit code, below 0 if a signal ended it."""
        folder = self._runs_dir / run.name
        settings = {**run.settings.flat(), "workers": self._workers}
        with as_journal_errors(path := folder.with_name(f"{run.name}.log")):
            log = path.open("ab")
        with log:
            process = await asyncio.create_subprocess_exec(
                # -P: as in the command, a person's random.py in this folder is not Python's
                *(sys.executable, "-P", "-m", "behavesim.application.experiment.execution"),
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

    def _result_text(self, run: Planned, code: int) -> str:
        if code:
            return f"ended with exit code {code}; see {self._runs_dir / run.name}.log"
        made = Run.load(RunFolder(self._runs_dir / run.name))
        best = None if made.best is None else made.state.leader
        found = "nothing feasible" if best is None else f"best {best.score:.6g} ({program_name(best.candidate)})"
        return found if made.state.stopped == "budget" else f"stopped by {made.state.stopped}, {found}"

    def _time_left(self) -> str:
        left = len(self._planned) - len(self._took)
        each_s = sum(self._took) / len(self._took)
        return f", about {clock(each_s * left / min(left, self._jobs))} left" if left else ""


def _end(process: Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)


def _make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; choose another --runs-dir") from None


# Compares the runs of an experiment, and writes the comparison beside them as JSON and CSV.


# Name of the page of an experiment's comparison, in the folder of its runs.
PAGE = "comparison.html"


async def compare_groups(
    experiment: Experiment,
    made: Sequence[Planned],
    runs_dir: Path,
    metrics: Sequence[Metric],
    tell: Callable[[str], None],
    workers: int | str | None = None,
) -> RunComparison:
    """Compare the runs that were `made`, write report.json, comparison.html and tables/*.csv; return the comparison.

    Files are written into `runs_dir`. `metrics` are all that are used, built-in ones included. `tell` gets a line when
    programs are evaluated on held-out instances, `workers` at once or on the cluster of that name; None uses all cores.
    """
    runs = [Run.load(RunFolder(runs_dir / run.name)) for run in made]
    reports = await reports_of(runs, tell, ["held-out"] if experiment.held_out else [], workers)
    found = comparison(reports, experiment.tests, metrics, experiment.tests_unfinished)
    (runs_dir / "report.json").write_text(json.dumps(json_document(found), indent=1), encoding="utf-8")
    write_csv(found, runs_dir / "tables")
    write_comparison(found, runs_dir / PAGE)
    return found


# Makes or resumes one run of an experiment, as a process that stops in order when the experiment's process dies.
#
# Standard input is a JSON object: `parent` (the id of the experiment's process), `folder` (the run's path) and
# `settings` (by name).


def main() -> None:
    """Make the run that standard input (see above) names, or resume it if its folder has a journal.

    A folder without a journal is deleted first. The exit code is 0 once the session has ended in order, that of a
    BehavesimError, or 130 if interrupted. Nothing is done if the experiment's process is gone already.
    """
    die_with_parent(signal.SIGTERM)
    given = json.load(sys.stdin)
    if os.getppid() != given["parent"]:
        return  # the parent died before the kernel was asked to signal its death
    try:
        session.shorten_pauses()
        settings = settings_from_journal(given["settings"])
        launch = Launch(settings, TaskReference(settings.task).load(), RunFolder(Path(given["folder"])))
        if launch.folder.journal.exists():
            work = session.resume(launch, show_search, _write_to_log)
        else:
            if launch.folder.path.is_dir():  # a process was killed before the run's journal existed
                shutil.rmtree(launch.folder.path)
            work = session.begin(launch, show_search, _write_to_log)
        session.run_until_asked_to_end(work, launch.requests.abandon)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BehavesimError as error:
        _write_to_log(str(error))
        sys.exit(error.exit_code)


def _write_to_log(text: str) -> None:
    with suppress(OSError):  # a log that cannot be written ends no run
        sys.stderr.write(f"behavesim: {printable(text)}\n")


if __name__ == "__main__":
    main()
