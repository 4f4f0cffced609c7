"""What a person should know of a run as it happens: a line each, kept in its log and shown by whoever shows the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from behavesim.base.text import printable

OFTEN_S = 60.0
"""How often the same thing is said again while it goes on."""
LONG_S = 10.0
"""From here on a person who waits wants to know for what, and how long."""
LAST = 2
"""Of what was said before somebody began to look, so much is told."""
LOG_TIME = "%Y-%m-%d %H:%M:%S%z"


@dataclass(frozen=True)
class Notice:
    """One line, and when it was said."""

    at: datetime
    text: str

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S} {self.text}"

    @property
    def logged(self) -> str:
        """The line as it stands in a log."""
        return f"{self.at:{LOG_TIME}} {self.text}"

    @classmethod
    def read(cls, logged: str) -> Notice:
        """The notice of a line of a log; raises ValueError where it begins with no time."""
        day, time, text = logged.split(" ", 2)
        return cls(datetime.strptime(f"{day} {time}", LOG_TIME), text)


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


class LoggedNotices:
    """What another process says of a run, in order, in `said`: what stood last in its log, and what comes."""

    def __init__(self, log: Path) -> None:
        """`log` need not be there yet."""
        self._log = log
        self._position = 0
        self.said: list[Notice] = []
        self.follow()
        del self.said[:-LAST]

    def follow(self) -> None:
        """Read on, to the end of the last whole line; one without a time, which somebody wrote by hand, is left out."""
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
    """Says what happens again and again once a minute, by `clock`, and then how often it happened meanwhile.

    What goes on for long is said at once, and again whenever it turns out to go on much longer.
    """

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say = say
        self._clock = clock
        self._next_at: dict[str, float] = {}
        self._ends_at: dict[str, float] = {}
        self._unsaid: Counter[str] = Counter()

    def __call__(self, kind: str, text: str, lasts_s: float = 0.0) -> None:
        """Say it, unless something of its kind was said less than a minute ago that lasts about as long."""
        now = self._clock()
        goes_on = lasts_s >= LONG_S and now + lasts_s > self._ends_at.get(kind, now) + LONG_S / 2
        if now < self._next_at.get(kind, now) and not goes_on:
            self._unsaid[kind] += 1
            return
        self._next_at[kind], self._ends_at[kind] = now + OFTEN_S, now + lasts_s
        times = self._unsaid.pop(kind, 0)
        self._say(f"{text} ({times} more like it before)" if times else text)
