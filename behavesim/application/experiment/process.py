"""One run of an experiment, in a process that stops in order when the experiment's process is killed.

Standard input is a JSON object: `parent` (a process id), `folder` (the run's path) and `settings`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

from behavesim.application import session
from behavesim.application.console import shown_search
from behavesim.application.pauses import shorten_pauses
from behavesim.application.signals import run_until_asked_to_end
from behavesim.base.errors import INTERRUPTED, BehavesimError
from behavesim.base.text import printable
from behavesim.engine.build import Launch
from behavesim.engine.settings import settings_from_journal
from behavesim.sandbox.processes import die_with_parent
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference


def main() -> None:
    """Make or resume the run; exit codes are those of `behavesim run`."""
    die_with_parent(signal.SIGTERM)
    given = json.load(sys.stdin)
    if os.getppid() != given["parent"]:
        return  # the parent died before the kernel was asked to signal its death
    shorten_pauses()
    try:
        settings = settings_from_journal(given["settings"])
        launch = Launch(settings, TaskReference(settings.task).load(), RunFolder(Path(given["folder"])))
        if launch.folder.journal.exists():
            work = session.resume(launch, shown_search, _note)
        else:
            _clear(launch.folder)
            work = session.begin(launch, shown_search, _note)
        run_until_asked_to_end(work, launch.requests.abandon)
    except asyncio.CancelledError:
        sys.exit(INTERRUPTED)
    except BehavesimError as error:
        _note(str(error))
        sys.exit(error.exit_code)


def _note(text: str) -> None:
    with suppress(OSError):  # a log that cannot be written ends no run
        sys.stderr.write(f"behavesim: {printable(text)}\n")


def _clear(folder: RunFolder) -> None:
    """Delete the folder of a run that was killed before its journal existed."""
    if folder.path.is_dir():
        shutil.rmtree(folder.path)


if __name__ == "__main__":
    main()
