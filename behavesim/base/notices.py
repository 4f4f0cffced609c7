"""Notices: lines about a run that a person should see, written to its log and shown by its views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from behavesim.base.text import printable

OFTEN_S = 60.0
"""Seconds until a notice of the same kind is given again."""
LONG_S = 10.0
"""Seconds of waiting from which a notice says what is waited for, and for how long."""
LAST = 2
"""Number of earlier notices shown to somebody who begins to watch."""
LOG_TIME = "%Y-%m-%d %H:%M:%S%z"


@dataclass(frozen=True)
class Notice:
    """One line, and when it was given."""

    at: datetime
    text: str

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S} {self.text}"

    @property
    def logged(self) -> str:
        """Return the line as the log has it."""
        return f"{self.at:{LOG_TIME}} {self.text}"

    @classmethod
    def read(cls, logged: str) -> Notice:
        """Return the notice of a log's line; raises ValueError where the line does not begin with a time."""
        day, time, text = logged.split(" ", 2)
        return cls(datetime.strptime(f"{day} {time}", LOG_TIME), text)


class Notices:
    """Takes notices, one line at a time; `said` holds those of this session in order."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` puts a line into the log."""
        self.said: list[Notice] = []
        self._write = write

    def __call__(self, text: str) -> None:
        """Write a line to the log, and keep it for the views."""
        self._write(text)
        self.said.append(Notice(datetime.now().astimezone(), printable(text)))


class LoggedNotices:
    """Notices of another process, read from its log: `said` holds the last LAST ones and all that follow."""

    def __init__(self, log: Path) -> None:
        """`log` need not be there yet."""
        self._log = log
        self._position = 0
        self.said: list[Notice] = []
        self.follow()
        del self.said[:-LAST]

    def follow(self) -> None:
        """Read on to the end of the last whole line; lines without a time, written by hand, are ignored."""
        if not self._log.exists():
            return
        with self._log.open("rb") as log:
            log.seek(self._position)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            with suppress(ValueError):
                self.said.append(Notice.read(printable(line)))


class Sparing:
    """Gives a notice that is repeated at most once a minute by `clock`, with the number of those left out.

    A notice about a long wait is given at once, and again when the wait becomes much longer.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say = say
        self._clock = clock
        self._next_at: dict[str, float] = {}
        self._ends_at: dict[str, float] = {}
        self._unsaid: Counter[str] = Counter()

    def __call__(self, kind: str, text: str, lasts_s: float = 0.0) -> None:
        """Give a notice, unless one of its kind was given within a minute for about the same `lasts_s` (seconds)."""
        now = self._clock()
        goes_on = lasts_s >= LONG_S and now + lasts_s > self._ends_at.get(kind, now) + LONG_S / 2
        if now < self._next_at.get(kind, now) and not goes_on:
            self._unsaid[kind] += 1
            return
        self._next_at[kind], self._ends_at[kind] = now + OFTEN_S, now + lasts_s
        times = self._unsaid.pop(kind, 0)
        self._say(f"{text} ({times} more like it before)" if times else text)
