"""Plays back a recorded search by a language model: its run is part of the package, so no key is needed to see one."""

from __future__ import annotations

import asyncio
import tarfile
import time
from bisect import bisect_right
from contextlib import suppress
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.application.console import moment_of, show
from behavesim.base.errors import JournalError, UsageError
from behavesim.reports.live import LiveRun
from behavesim.store.database import read_first_time
from behavesim.store.folder import RunFolder, as_journal_errors
from behavesim.store.reading import read_events

# The name of the run that is unpacked.
NAME = "demo"
# The archive of the recorded run's journal, settings, log, best and recommended program.
#
# `python -m tests.recording` makes it anew with the same replies, if the task's file or a prompt has changed.
RECORDED = Path(__file__).with_name("demo.tar.xz")
# The time of the recorded journal's first event, in seconds since 1970: it identifies the recording.
BEGAN = 1795874147.3739712


def unpack_recording(runs: Path) -> RunFolder:
    """Return the folder `runs/demo` of the recorded run; it is unpacked unless it is there already.

    Raises UsageError if something else has this name or the folder cannot be made.
    """
    folder = RunFolder.named(runs, NAME)
    if not folder.path.exists():
        with folder.created(), as_journal_errors(folder.path), tarfile.open(RECORDED) as archive:
            archive.extractall(folder.path, filter="data")
    with suppress(JournalError):
        if read_first_time(folder.journal) == BEGAN:
            return folder
    raise UsageError(
        f"{folder.path} exists and is not this version's recording; remove it, or choose another --runs-dir"
    )


async def play_recording(folder: RunFolder, seconds: float) -> Run:
    """Show a finished run on stderr as it went on, but in `seconds` altogether, and return it."""
    times = [at for _, at, _ in read_events(folder.journal)]
    run = Run.load(folder.path, until=1)
    began = time.monotonic()

    def moment() -> LiveRun:
        share = min(1.0, (time.monotonic() - began) / seconds) if seconds > 0 else 1.0
        run.follow(until=bisect_right(times, times[0] + share * (times[-1] - times[0])))
        return moment_of(run, run.state.registered / run.active_s if run.active_s else 0.0)

    async with show(moment):
        await asyncio.sleep(seconds)
    run.follow()
    return run
