"""What a person should know of a run as it happens: a line each, kept in its log and shown by whoever shows the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from behavesim.text import printable

OFTEN_S = 60.0
"""How often the same thing is said again while it goes on."""


@dataclass(frozen=True)
class Notice:
    """One line, and when it was said."""

    at: datetime
    text: str

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S} {self.text}"


class Notices:
    """Takes a line at a time, and keeps all that were said in this session, in order, in `said`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` puts a line into the log."""
        self.said: list[Notice] = []
        self._write = write

    def __call__(self, text: str) -> None:
        """Say a line: into the log, and to whoever shows the run."""
        self._write(text)
        self.said.append(Notice(datetime.now().astimezone(), printable(text)))


class Sparing:
    """Says what happens again and again once a minute, by `clock`, and then how often it happened meanwhile."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say = say
        self._clock = clock
        self._next_at: dict[str, float] = {}
        self._unsaid: Counter[str] = Counter()

    def __call__(self, kind: str, text: str) -> None:
        """Say it, unless something of its kind was said less than a minute ago."""
        now = self._clock()
        if now < self._next_at.get(kind, now):
            self._unsaid[kind] += 1
            return
        self._next_at[kind] = now + OFTEN_S
        times = self._unsaid.pop(kind, 0)
        self._say(f"{text} ({times} more like it before)" if times else text)
