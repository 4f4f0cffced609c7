"""Writing files beside a journal: in one step, with errors that say what to do next."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from behavesim.base.errors import JournalError


def owner_only(path: str, flags: int) -> int:
    """Open a file that, if it is made, only its owner may read: the `opener` of `open` for a run's files."""
    # a run's folder holds prompts, replies and programs, which other users of a machine must not read
    return os.open(path, flags, 0o600)


def replace_file(path: Path, text: str, is_lasting: bool = False) -> None:
    """Replace a file's text in one step, so that a reader never sees half; JournalError if it fails."""
    # with `is_lasting`, it is on the disk before it replaces the old one: a power cut leaves one of the two, never none
    draft = path.with_suffix(".draft")
    with as_journal_errors(path):
        refuse_pipe(draft)
        with open(draft, "w", encoding="utf-8", opener=owner_only) as file:
            file.write(text)
            if is_lasting:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)


def append_line(path: Path, line: str) -> None:
    """Append a line and a line end to a file, made if missing; raises JournalError if it cannot be written."""
    with as_journal_errors(path):
        refuse_pipe(path)
        with open(path, "a", encoding="utf-8", opener=owner_only) as file:
            file.write(f"{line}\n")


def refuse_pipe(path: Path) -> None:
    """Raise JournalError if the path is a named pipe: opening it would wait without end for a reader."""
    if path.is_fifo():
        raise JournalError(f"cannot write {path}: it is a named pipe, not a file; remove it, then resume the run")


@contextmanager
def as_journal_errors(path: Path) -> Iterator[None]:
    """Raise an OSError of the block as JournalError, whose one line names `path` and what to do next."""
    try:
        yield
    except OSError as error:
        advice = "make room on the disk" if error.errno == errno.ENOSPC else "check that the folder is yours to write"
        raise JournalError(f"cannot write {path}: {error.strerror}; {advice}, then resume the run") from error
