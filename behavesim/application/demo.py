"""Plays back searches by a language model that were recorded: their runs are in the package, so nobody needs a key.

`demos/NAME.tar.xz` has a run's journal, settings, log, best and recommended program; `demos/index.json` says what each
is. `python -m tests.recording NAME` makes one anew with the same replies, if the task's file or a prompt has changed.
"""

from __future__ import annotations

import asyncio
import json
import tarfile
import time
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.application.console import moment_of, show
from behavesim.base.errors import JournalError, UsageError
from behavesim.reports.live import LiveRun
from behavesim.store.database import read_first_time
from behavesim.store.folder import RunFolder, as_journal_errors
from behavesim.store.reading import read_events

# Where the recordings are.
DEMOS = Path(__file__).with_name("demos")
# The recording that is played unless a person names one.
USUAL = "asp"


@dataclass(frozen=True)
class Recording:
    """A recorded search: its name, what it is about, what it found, when the model wrote the programs.

    `began` is the time of the journal's first event, in seconds since 1970: it tells one recording from another.
    """

    name: str
    about: str
    found: str
    programs: int
    written: str
    began: float

    @property
    def run(self) -> str:
        """The name of the run's folder once it is unpacked."""
        return f"demo-{self.name}"

    @property
    def origin(self) -> str:
        """What a reader must know of the run: it was not searched here."""
        return (
            f"This is a recording: nothing was asked or evaluated here. A language model wrote these {self.programs} "
            f"programs on {self.written}; they were evaluated later, in this order, so times are not the model's."
        )

    @property
    def archive(self) -> Path:
        """The packed run."""
        return DEMOS / f"{self.name}.tar.xz"


def recordings() -> dict[str, Recording]:
    """Return all recordings by name, the usual one first."""
    index = json.loads((DEMOS / "index.json").read_text(encoding="utf-8"))
    return {name: Recording(name, **about) for name, about in index.items()}


def unpack_recording(recording: Recording, runs: Path) -> RunFolder:
    """Return the folder of a recorded run below `runs`; it is unpacked unless it is there already.

    Raises UsageError if something else has this name or the folder cannot be made.
    """
    folder = RunFolder.named(runs, recording.run)
    if not folder.path.exists():
        with folder.created(), as_journal_errors(folder.path), tarfile.open(recording.archive) as archive:
            archive.extractall(folder.path, filter="data")
            folder.add_note(recording.origin)
    with suppress(JournalError):
        if read_first_time(folder.journal) == recording.began:
            return folder
    raise UsageError(
        f"{folder.path} exists and is not this version's recording; remove it, or choose another --runs-dir"
    )


async def play_recording(folder: RunFolder, seconds: float) -> Run:
    """Show a finished run on stderr as it went on, but in `seconds` altogether, and return it."""
    times = [at for _, at, _ in read_events(folder.journal)]
    run = Run.load(folder, until=1)
    began = time.monotonic()

    def moment() -> LiveRun:
        share = min(1.0, (time.monotonic() - began) / seconds) if seconds > 0 else 1.0
        run.follow(until=bisect_right(times, times[0] + share * (times[-1] - times[0])))
        return moment_of(run, run.state.registered / run.active_s if run.active_s else 0.0)

    async with show(moment):
        await asyncio.sleep(seconds)
    run.follow()
    return run
