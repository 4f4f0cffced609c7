"""The lock of a run: one process at a time holds it, and the kernel releases it when that process ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ATTEMPTS, PAUSE_S = 50, 0.02
"""Tries to take the lock, and seconds between them.

`is_held` of another process may hold it for an instant. And if the holder was killed while it started a process, that
one holds the lock until it has begun its program, which takes some tenths of a second on a busy machine.
"""


@contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Hold the lock file at `path`, made if missing, for the block; yield True.

    Yield False if another process still holds it after a second. Raises OSError if the file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield any(_taken(descriptor) for _ in range(ATTEMPTS))
    finally:
        os.close(descriptor)  # which releases the lock


def _taken(descriptor: int) -> bool:
    """Return True if the lock could be taken now; else wait for PAUSE_S seconds and return False."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(PAUSE_S)
        return False
    return True


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
