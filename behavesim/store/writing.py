"""How files are written beside a journal: in one step, and with a word on what to do where that fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from behavesim.base.errors import JournalError


def replace_file(path: Path, text: str, is_lasting: bool = False) -> None:
    """Replace a file in one step, so that a reader never sees half of it; raises JournalError where it cannot be.

    What is lasting is on the disk before it replaces what was there.
    """
    draft = path.with_suffix(".draft")
    with reported(path):
        refuse_pipe(draft)
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            if is_lasting:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)


def append_line(path: Path, line: str) -> None:
    """Append a line to a file; raises JournalError where it cannot be."""
    with reported(path):
        refuse_pipe(path)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def refuse_pipe(path: Path) -> None:
    """Raise JournalError where a named pipe stands in a file's place: opening it waits for ever for its other end."""
    if path.is_fifo():
        raise JournalError(f"cannot write {path}: it is a named pipe, not a file; remove it, then resume the run")


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into JournalError, one line with what to do next."""
    try:
        yield
    except OSError as error:
        advice = "make room on the disk" if error.errno == errno.ENOSPC else "check that the folder is yours to write"
        raise JournalError(f"cannot write {path}: {error.strerror}; {advice}, then resume the run") from error
