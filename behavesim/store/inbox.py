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
    """A folder of `.py` files; each stays until its program is committed. Adding one does not need the run's lock."""

    path: Path

    def put(self, stem: str, source: str) -> None:
        """Add a program as a file whose name ends with `stem`, in one step; make the folder if needed.

        Raises UsageError if the folder cannot be written.
        """
        name = f"{time.time_ns()}-{secrets.token_hex(2)}-{stem}.py"
        draft = self.path / f".{name}.draft"
        try:
            self.path.mkdir(exist_ok=True)
            draft.write_text(source, encoding="utf-8")
            draft.replace(self.path / name)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}; put the program in as its owner") from None

    def waiting(self) -> list[tuple[str, str]]:
        """Return the file name and the source of every program, oldest first; an empty list if there is no folder.

        The source of a file that is too long or cannot be read is a comment that says so.
        """
        return [(path.name, _read(path)) for path in sorted(self.path.glob("*.py")) if path.is_file()]

    def remove(self, name: str) -> None:
        """Delete the program's file of that name, as `waiting` returned it; do nothing if it is gone."""
        (self.path / name).unlink(missing_ok=True)


def _read(path: Path) -> str:
    """Return the text of a file. If it cannot be read, return a comment that says why: the run then rejects it."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LONGEST + 1)
    except OSError as error:
        return f"# cannot be read: {error.strerror}"
    return text if len(text) <= LONGEST else f"# cannot be read: it has more than {LONGEST:,} characters"
