"""Makes or resumes one run of an experiment, as a process that stops in order when the experiment's process dies.

Standard input is a JSON object: `parent` (the id of the experiment's process), `folder` (the run's path) and `settings`
(by name).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

from behavesim.application import session
from behavesim.application.console import shown_search
from behavesim.base.errors import INTERRUPTED, BehavesimError
from behavesim.base.text import printable
from behavesim.engine.build import Launch
from behavesim.sandbox.processes import die_with_parent
from behavesim.state.settings import settings_from_journal
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference


def main() -> None:
    """Make the run that standard input (see the module) names, or resume it if its folder has a journal.

    A folder without a journal is deleted first. The exit code is 0 once the session has ended in order, that of a
    BehavesimError, or 130 if interrupted; any other error is raised. Nothing is done if the experiment's process is
    gone already.
    """
    die_with_parent(signal.SIGTERM)
    given = json.load(sys.stdin)
    if os.getppid() != given["parent"]:
        return  # the parent died before the kernel was asked to signal its death
    try:
        settings = settings_from_journal(given["settings"])
        launch = Launch(settings, TaskReference(settings.task).load(), RunFolder(Path(given["folder"])))
        if launch.folder.journal.exists():
            work = session.resume(launch, shown_search, _note)
        else:
            if launch.folder.path.is_dir():  # a process was killed before the run's journal existed
                shutil.rmtree(launch.folder.path)
            work = session.begin(launch, shown_search, _note)
        session.carried_out(launch, work)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BehavesimError as error:
        _note(str(error))
        sys.exit(error.exit_code)


def _note(text: str) -> None:
    """Write a line to standard error, which is the run's log."""
    with suppress(OSError):  # a log that cannot be written ends no run
        sys.stderr.write(f"behavesim: {printable(text)}\n")


if __name__ == "__main__":
    main()
