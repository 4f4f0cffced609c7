"""The passages of prompts: what stands between two blank lines, kept once however many prompts have it.

The prompts of a run repeat the task's description, and its best programs again and again: of 28 MB of them, 1.2 MB are
passages that differ. A passage's number follows from its text alone, so that whoever writes need know no other one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

GAP = "\n\n"
_SELECT = "SELECT text FROM passages WHERE number = ?"


def parted(text: str) -> list[tuple[int, str]]:
    """The passages of a text in order, each with its number."""
    return [(_number(passage), passage) for passage in text.split(GAP)]


def joined(numbers: list[Any], passages: Mapping[int, str]) -> str:
    """The text of passages with such numbers, whatever they are; raises ValueError where one is not there."""
    try:
        return GAP.join([passages[number] for number in numbers])
    except (LookupError, TypeError) as error:
        raise ValueError("a passage of its prompt is missing, or damaged") from error


def is_passage(number: int, text: object) -> bool:
    """Whether a text has that number."""
    return isinstance(text, str) and _number(text) == number


class Passages(dict[int, str]):
    """The passages of a journal, each read from it when it is first asked for."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__()
        self._db = db

    def __missing__(self, number: int) -> str:
        """Raises LookupError where the journal has none of that number, TypeError where it is none."""
        row = self._db.execute(_SELECT, (number,)).fetchone() if 0 <= number < 1 << 63 else None
        if row is None or not is_passage(number, row[0]):
            raise LookupError(number)
        return self.setdefault(number, row[0])


def _number(passage: str) -> int:
    """63 bits of a hash: SQLite's integers have a sign."""
    return int.from_bytes(blake2b(passage.encode(), digest_size=8).digest()) >> 1
