"""Digests of every installed task: with one worker, with four, and killed with four and resumed.

python -m benchmarks.library [TASK…]
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from behavesim.task import TaskReference, installed_tasks

# Candidates of a run.
BUDGET = 12
# Events in the journal at which a run is killed: some candidates are done by then, and others under way.
KILLED_AT = 20
COMMAND = (sys.executable, "-m", "behavesim")


def main(names: list[str]) -> None:
    """Print a line for each task, and exit with 1 if two digests of one differ."""
    differing = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            one, four = (digest(run(folder, name, f"{count}", count)) for count in (1, 4))
            events = kill(folder, name)
            again = digest(
                subprocess.run((*COMMAND, "resume", named(name, "killed"), "--json"), cwd=folder, capture_output=True)
            )
            same = one == four == again
            print(
                f"{name:22} {one[:16]}  killed after {events} events  {'equal' if same else f'{four} {again}'}",
                flush=True,
            )
            differing += [] if same else [name]
    sys.exit(f"digests differ on {', '.join(differing)}" if differing else 0)


def named(name: str, label: str) -> str:
    """Return the name of a run of a task."""
    return f"{name.replace(':', '_')}-{label}"


def arguments(name: str, label: str, workers: int) -> tuple[str, ...]:
    """Return the command of a run of the offline proposer."""
    given = ("--budget", str(BUDGET), "--proposer", "genetic", "--workers", str(workers), "--name", named(name, label))
    return (*COMMAND, "run", name, *given, "--json", "--allow-weak-isolation")


def run(folder: str, name: str, label: str, workers: int) -> subprocess.CompletedProcess[bytes]:
    """Carry a run out."""
    return subprocess.run(arguments(name, label, workers), cwd=folder, capture_output=True)


def digest(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the digest of a run that is done."""
    found: dict[str, Any] = json.loads(done.stdout or "{}")
    return str(found.get("digest") or done.stderr.decode()[-300:])


def kill(folder: str, name: str) -> int:
    """Start a run, kill it when its journal has KILLED_AT events, and return how many it has."""
    journal = Path(folder, "runs", named(name, "killed"), "run.db")
    with subprocess.Popen(
        arguments(name, "killed", 4),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        while process.poll() is None and count(journal) < KILLED_AT:
            time.sleep(0.02)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    return count(journal)


def count(journal: Path) -> int:
    """Return the number of events in a journal; 0 if there is none yet."""
    if not journal.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])
    except sqlite3.OperationalError:  # it is just being made
        return 0


if __name__ == "__main__":
    known = {name: TaskReference(name).load() for name in installed_tasks()}
    main(
        sys.argv[1:] or [full for name, task in known.items() for full in (name, *(f"{name}:{s}" for s in task.sizes))]
    )
