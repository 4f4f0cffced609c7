"""A run's inbox: programs and advice that people add to a run, as files that the journal's one writer takes."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from behavesim.base.errors import UsageError

PROGRAM, ADVICE = ".py", ".txt"
"""The suffixes of files in an inbox: a program, whatever its language, or a sentence of advice."""
LONGEST = 1_000_000
"""Largest number of characters in a file: a program has at most 30 000, and huge texts do not fit a row of SQLite."""


@dataclass(frozen=True)
class Inbox:
    """A folder, which need not exist, of files that stay until their content is committed."""

    path: Path

    def put(self, stem: str, text: str, suffix: str = PROGRAM) -> None:
        """Add a text as the file TIME-RANDOM-`stem` with the suffix, in one step; make the folder if needed.

        Raises UsageError if the folder cannot be written.
        """
        name = f"{time.time_ns()}-{secrets.token_hex(2)}-{stem}{suffix}"
        draft = self.path / f".{name}.draft"
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            # the draft has another suffix, so the run cannot take half a text
            draft.write_text(text, encoding="utf-8")
            draft.replace(self.path / name)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}; put it in as its owner") from None

    def waiting(self, suffix: str = PROGRAM) -> list[tuple[str, str]]:
        """Return (file name, text) of every file with the suffix, sorted by file name; [] if there is no folder.

        Those that `put` added come in order of time. The text of a program's file that is too long or cannot be read is
        a comment that says so, and the run rejects it. Such a file of advice is left out, as prompts would carry the
        comment.
        """
        found = [(path.name, _read(path)) for path in sorted(self.path.glob(f"*{suffix}")) if path.is_file()]
        if suffix == ADVICE:
            return [(name, text) for name, text in found if isinstance(text, str)]
        return [(name, text if isinstance(text, str) else f"# cannot be read: {text.why}") for name, text in found]

    def remove(self, name: str) -> None:
        """Delete the file `name` of the folder; do nothing if it is gone. Raises OSError if it cannot be deleted."""
        (self.path / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class _Unread:
    """Why the text of a file was not read."""

    why: str


def _read(path: Path) -> str | _Unread:
    """Return the text of a file, or why it is too long or cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LONGEST + 1)
    except OSError as error:
        return _Unread(error.strerror or type(error).__name__)
    return text if len(text) <= LONGEST else _Unread(f"it has more than {LONGEST:,} characters")
