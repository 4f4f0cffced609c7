"""Notices: lines about a run for a person, written to its log and shown on the screen."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from behavesim.base.text import count_noun, printable

# The strftime format of times in the log: local time with its offset from UTC.
LOG_TIME = "%Y-%m-%d %H:%M:%S%z"


@dataclass(frozen=True)
class Notice:
    """One line for a person, and when it was given; `str` shows the time of day and the line."""

    at: datetime
    text: str

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S} {self.text}"

    @property
    def logged(self) -> str:
        """The notice as a line of the log: date, time, text."""
        return f"{self.at:{LOG_TIME}} {self.text}"

    @classmethod
    def read(cls, logged: str) -> Notice:
        """Return the notice in a line of the log; raises ValueError if it is none."""
        day, time, text = logged.split(" ", 2)
        return cls(datetime.strptime(f"{day} {time}", LOG_TIME), text)


class Notices:
    """Takes the notices of a session: call it with each line; `said` holds all of them, oldest first."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.said: list[Notice] = []
        self._write = write

    def __call__(self, text: str) -> None:
        """Write a line to the log, and add it to `said`."""
        self._write(text)
        self.said.append(Notice(datetime.now().astimezone(), printable(text)))


def on_stderr(text: str) -> None:
    """Write a line for a person to standard error, made `printable`; an OSError is ignored."""
    with suppress(OSError):  # a log that cannot be written ends nothing
        sys.stderr.write(f"behavesim: {printable(text)}\n")


# Number of notices from the end of the log that `behavesim report --follow` shows when it begins.
LAST = 2


class LoggedNotices:
    """The notices in a log that another process writes; a log that cannot be read has none."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._position = 0
        self.all: list[Notice] = []
        self.follow()
        self._first = max(0, len(self.all) - LAST)

    @property
    def said(self) -> list[Notice]:
        """The last `LAST` notices from the beginning of this object, and all new ones."""
        return self.all[self._first :]

    def follow(self) -> None:
        """Add the notices of all new complete lines to `all`; other lines are left out."""
        try:
            with self._log.open("rb") as log:
                log.seek(self._position)
                text = log.read()
        except OSError:
            return
        # the writer may be in the middle of a line: its rest is read together with it, the next time
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            with suppress(ValueError):
                self.all.append(Notice.read(printable(line)))


# Least seconds between two notices of one kind from `Sparing`; only a notice of a long wait may come earlier.
OFTEN_S = 60.0
# Waits of this many seconds or more are long: `Sparing` may report them at once. Shorter ones are common.
LONG_S = 10.0


class Sparing:
    """Shows notices of one kind at most once in `OFTEN_S` seconds, with the number of those left out between."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say = say
        self._clock = clock
        self._next_at: dict[str, float] = {}
        self._ends_at: dict[str, float] = {}
        self._unsaid: Counter[str] = Counter()

    def __call__(self, kind: str, text: str, lasts_s: float = 0.0) -> None:
        """Show `text`; if a notice of its `kind`, a noun, was shown less than OFTEN_S seconds ago, only count it."""
        now = self._clock()
        # a long wait that ends later than the last notice said is shown at once: else the person would think it hangs
        goes_on = lasts_s >= LONG_S and now + lasts_s > self._ends_at.get(kind, now) + LONG_S / 2
        if now < self._next_at.get(kind, now) and not goes_on:
            self._unsaid[kind] += 1
            return
        self._next_at[kind], self._ends_at[kind] = now + OFTEN_S, now + lasts_s
        times = self._unsaid.pop(kind, 0)
        self._say(f"{text} (before it {count_noun(times, f'more {kind}')}, not shown)" if times else text)
