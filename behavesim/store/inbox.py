"""A run's inbox: files of programs that people add to a run. Only the process that writes the journal takes them."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from behavesim.base.errors import UsageError

LONGEST = 1_000_000
"""Largest number of characters in a file: a program has at most 30 000, and huge texts do not fit a row of SQLite."""


@dataclass(frozen=True)
class Inbox:
    """A folder of `.py` files, which need not exist; each stays until its program is committed."""

    path: Path

    def put(self, stem: str, source: str) -> None:
        """Add a program as the file TIME-RANDOM-`stem`.py, in one step; make the folder if needed.

        Raises UsageError if the folder cannot be written.
        """
        name = f"{time.time_ns()}-{secrets.token_hex(2)}-{stem}.py"
        draft = self.path / f".{name}.draft"
        try:
            self.path.mkdir(exist_ok=True)
            # the draft begins with a dot and does not end in .py, so the run cannot take half a program
            draft.write_text(source, encoding="utf-8")
            draft.replace(self.path / name)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}; put the program in as its owner") from None

    def waiting(self) -> list[tuple[str, str]]:
        """Return (file name, source) of every program, sorted by file name; [] if there is no folder.

        Those that `put` added come in order of time. The source of a file that is too long or cannot be read is a
        comment that says so.
        """
        return [(path.name, _read(path)) for path in sorted(self.path.glob("*.py")) if path.is_file()]

    def remove(self, name: str) -> None:
        """Delete the file that `waiting` named; do nothing if it is gone. Raises OSError if it cannot be deleted."""
        (self.path / name).unlink(missing_ok=True)


def _read(path: Path) -> str:
    """Return the text of a file; if it is too long or unreadable, a comment that says so, which the run rejects."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LONGEST + 1)
    except OSError as error:
        return f"# cannot be read: {error.strerror}"
    return text if len(text) <= LONGEST else f"# cannot be read: it has more than {LONGEST:,} characters"
