"""Text from outside made safe to store as UTF-8 and to show on a terminal; numbers, times and costs as text."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from textwrap import TextWrapper

_UNITS = {"d": 86400, "h": 3600, "min": 60}
"""Seconds of each unit of time above the second, largest first."""
_KEPT = "\0"
"""Stands for a space at which a line is not wrapped; printable text never has it."""


def storable(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, which UTF-8 cannot encode.

    A surrogate pair becomes its character. Nothing else changes; control characters stay.
    """
    if text.isascii():  # as nearly all are
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def printable(text: str) -> str:
    """Return the text with JSON escapes such as \\u001b for all characters that Python does not consider printable.

    Such characters could move a terminal's cursor or hide text. Line feeds stay, tabs become up to 4 spaces. A JSON
    document keeps its meaning if it has no carriage returns between its values.
    """
    if text.isprintable():
        return text
    lines = text.expandtabs(4).split("\n")
    return "\n".join("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line) for line in lines)


def wrapped(text: str, columns: int) -> str:
    """Return printable text wrapped between words to lines of at most `columns` characters; line feeds stay.

    A word, such as a path, is never broken, nor is a command: "behavesim …" up to a comma, semicolon, backtick or line
    end. Where one is longer than `columns`, so is its line.
    """
    whole = re.sub(r"(?<![\w+-])behavesim [^;,`\n]+", lambda command: command[0].replace(" ", _KEPT), text)
    wrapper = TextWrapper(columns, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrapper.fill, whole.split("\n"))).replace(_KEPT, " ")


def one_line(text: str, limit: int = 500) -> str:
    """Return the text on one line, `printable` and cut to `limit` characters; white space becomes single spaces.

    White space at both ends goes. Only the first 4 * `limit` characters are read.
    """
    return printable(" ".join(text[: 4 * limit].split()))[:limit]


def shortened(text: str, limit: int) -> str:
    """Return the text; if it is longer than `limit` characters, cut to at most that many, the "…" at its end included.

    It is cut between words where a space stands in the second half of what may be kept.
    """
    if len(text) <= limit:
        return text
    # languages without spaces, and one long name, are cut where they have to be
    at = text.rfind(" ", limit // 2, limit)
    return f"{text[: at if at >= 0 else limit - 1]}…"


def last_line(text: str) -> str:
    """Return the last line that is not blank, such as of a process's errors, without white space around it; else ""."""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def comment(line: str) -> str:
    """Return the text as one line after "# "; line ends become spaces, unprintable characters escapes. "" gives "#"."""
    return f"# {printable(' '.join(line.splitlines()))}".rstrip()


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: "1 run", "3,000 runs". `noun` is the singular, to which "s" is added."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time such as "9.6 s", "37 s" or "2.5 h": in the largest of d, h, min that fits twice, else in s.

    Below ten of the unit it has at most two significant digits, without a zero at the end ("2 min"); from ten on it is
    a whole number.
    """
    unit, size = next(((unit, size) for unit, size in _UNITS.items() if seconds >= 2 * size), ("s", 1))
    much = seconds / size
    return f"{much:{'.0f' if much >= 10 else '.2g'}} {unit}"


def long_time(seconds: float) -> str:
    """Return a time of hours or more in words, rounded up: "2 hours", "47 hours", from two days on "26,626 days"."""
    size, noun = (86400, "day") if seconds >= 2 * 86400 else (3600, "hour")
    return counted(math.ceil(seconds / size), noun)


def dollars(cost_usd: float | None) -> str:
    """Return a cost as text: "$0.00", "$1.50", "$0.0123" (four decimals below 1 unless 0), "unknown" for None."""
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:.2f}" if cost_usd == 0 or cost_usd >= 1 else f"${cost_usd:.4f}"


def short_name(name: str) -> str:
    """Return the short name of a task or method: of a path to a .py or .toml file its stem, else the name itself."""
    # A person's task is a file, and its folder says nothing about the problem.
    return Path(name).stem if name.endswith((".py", ".toml")) else name
