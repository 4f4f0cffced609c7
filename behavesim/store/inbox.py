"""A run's inbox: programs that people put into its folder, for the one process that writes its journal to take."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from behavesim.base.errors import UsageError

LONGEST = 1_000_000
"""Characters of a file that are read at most: programs may have 30 000, and a row of SQLite holds no 300 MB."""


@dataclass(frozen=True)
class Inbox:
    """A folder of `.py` files, each there until it is committed; whoever writes them needs no hold on the run."""

    path: Path

    def put(self, stem: str, source: str) -> None:
        """Put a program in, whole from the start; raises UsageError where the folder cannot be written."""
        name = f"{time.time_ns()}-{secrets.token_hex(2)}-{stem}.py"
        draft = self.path / f".{name}.draft"
        try:
            self.path.mkdir(exist_ok=True)
            draft.write_text(source, encoding="utf-8")
            draft.replace(self.path / name)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}; put the program in as its owner") from None

    def waiting(self) -> list[tuple[str, str]]:
        """The name and the source of every program in it, in the order in which they were put in."""
        return [(path.name, _read(path)) for path in sorted(self.path.glob("*.py")) if path.is_file()]

    def remove(self, name: str) -> None:
        """Take a program out."""
        (self.path / name).unlink(missing_ok=True)


def _read(path: Path) -> str:
    """The text of a file; where it cannot be read, a comment that says why, which is rejected as other programs are."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(LONGEST + 1)
    except OSError as error:
        return f"# cannot be read: {error.strerror}"
    return text if len(text) <= LONGEST else f"# cannot be read: it has more than {LONGEST:,} characters"
