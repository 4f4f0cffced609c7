"""What takes long to make and is only looked at: it is made once, for all workers of xdist."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder `name` that `make` has filled in one worker; the others wait for it, without CPU time."""
    workers = factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else factory.getbasetemp()
    folder, done = workers / "shared" / name, workers / "shared" / f"{name} is made"
    folder.parent.mkdir(exist_ok=True)
    with done.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker in which it failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
