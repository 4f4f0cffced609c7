"""The passages of prompts: prompts are split at blank lines, and each different passage is stored once.

The prompts of a run repeat the task's description and its best programs: 28 MB of prompts had 1.2 MB of different
passages. A passage's number is a hash of its text, so a passage can be written without reading the stored ones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

GAP = "\n\n"
"""What stands between two passages: a blank line."""
_SELECT_ALL = "SELECT number, text FROM passages"
_SELECT = "SELECT text FROM passages WHERE number = ?"


def split_passages(text: str) -> list[tuple[int, str]]:
    """Return the passages of a text in order, each as (number, passage); `join_passages` undoes it."""
    return [(_number(passage), passage) for passage in text.split(GAP)]


def join_passages(numbers: list[Any], passages: Mapping[int, str]) -> str:
    """Return the text made of the passages with these numbers, in order, with blank lines between them.

    Raises ValueError if an item is not the number of a passage.
    """
    try:
        return GAP.join(map(passages.__getitem__, numbers))
    except (LookupError, TypeError) as error:
        raise ValueError("a passage of its prompt is missing, or damaged") from error


def is_passage(number: int, text: object) -> bool:
    """Whether `text` is a string and `number` is its passage number."""
    return isinstance(text, str) and _number(text) == number


class Passages(dict[int, str]):
    """The passages of a journal by number, each read from the database on first use and then kept in memory.

    `at_once`: the first use reads all that are not damaged, which takes less time than a query for each.
    """

    def __init__(self, db: sqlite3.Connection, at_once: bool = False) -> None:
        super().__init__()
        self._db = db
        self._at_once = at_once

    def __missing__(self, number: int) -> str:
        """Read a passage from the journal and keep it.

        Raises LookupError if the journal has no such passage or its text is damaged, TypeError if it is not a number.
        """
        if self._at_once:
            self._at_once = False
            self.update(row for row in self._db.execute(_SELECT_ALL) if is_passage(*row))
            if number in self:
                return self[number]
        # SQLite takes no larger integers
        row = self._db.execute(_SELECT, (number,)).fetchone() if 0 <= number < 1 << 63 else None
        if row is None or not is_passage(number, row[0]):
            raise LookupError(number)
        return self.setdefault(number, row[0])


def _number(passage: str) -> int:
    return hash_63(passage.encode())


def hash_63(data: bytes) -> int:
    """Return a hash of the bytes as a number of 63 bits, 0 or more: SQLite's integers have 64, one for the sign."""
    return int.from_bytes(blake2b(data, digest_size=8).digest()) >> 1
