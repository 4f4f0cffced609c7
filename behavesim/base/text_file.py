"""Text files that a person names: a pipe, a device or a file of any size must not hold up or end the process."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from behavesim.base.errors import UsageError

MOST_BYTES = 1 << 20
"""Largest file that is read, in bytes: programs, prompts and settings have a few thousand."""


def read_text_file(path: Path, noun: str) -> str:
    """Return the text of a regular file in UTF-8.

    Raises UsageError, which calls the file a `noun`, where it cannot be read, is a pipe, a device or a folder, or has
    more than 1 MB.
    """
    try:
        data = _read(path)
        text = data.decode()
    except OSError as error:
        raise UsageError(f"cannot read the {noun} {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read the {noun} {path}: byte {error.start} is no text in UTF-8") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"cannot read the {noun} {path}: it has more than {MOST_BYTES >> 20} MB; name a smaller file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read(path: Path) -> bytes:
    """Return at most one byte more than may be read; raises OSError for what is no regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a pipe waits for a writer
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file; copy what it holds into one")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
