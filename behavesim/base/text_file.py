"""Reading text files that a person names, safely: a pipe, a device or a huge file must not block the process."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from behavesim.base.errors import UsageError

# Largest file that is read, in bytes (1 MiB): programs, prompts and settings have a few thousand.
MOST_BYTES = 1 << 20


def read_text_file(path: Path, noun: str) -> str:
    """Return the text of a regular file in UTF-8, with "\\n" for every line end.

    Raises UsageError, which calls the file `noun`, if it is no such file, cannot be read or is too long.
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
    # O_NONBLOCK: opening a pipe would wait for a writer, perhaps for ever
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file; copy what it holds into one")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MOST_BYTES + 1)  # not by its size: a file may grow, and those of /proc say 0
    finally:
        os.close(descriptor)
