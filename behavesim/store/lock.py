"""The lock of a run: one process at a time holds it, and the kernel releases it when that process ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

ATTEMPTS, PAUSE_S = 5, 0.02
"""Tries to take the lock, and seconds between them: `is_held` of another process may hold it for an instant."""


class Lock:
    """An open lock file, not locked yet. It is made if missing; raises OSError if it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def take(self) -> bool:
        """Try to take the lock for up to 0.1 s; return whether this object now holds it."""
        for _ in range(ATTEMPTS):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(PAUSE_S)
            else:
                return True
        return False

    def close(self) -> None:
        """Release the lock and close the file."""
        os.close(self._descriptor)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock; False if the file is missing or unreadable. Needs no right to write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
