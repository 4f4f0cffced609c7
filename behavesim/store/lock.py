"""The lock of a run: one process at a time holds it, and the kernel drops it with that process."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

ATTEMPTS, PAUSE_S = 5, 0.02
"""Whoever only looks whether the lock is held may be in the way for an instant."""


class Lock:
    """A lock file, made where there is none; raises OSError where it cannot be."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def take(self) -> bool:
        """Take the lock; returns whether it could be had."""
        for _ in range(ATTEMPTS):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(PAUSE_S)
            else:
                return True
        return False

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock; looking needs no right to write."""
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
