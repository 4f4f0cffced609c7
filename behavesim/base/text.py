"""Text that others wrote: fit to be stored, and fit to be shown without doing anything to a terminal."""

from __future__ import annotations

import json

_UNITS = {"d": 86400, "h": 3600, "min": 60}


def storable(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair that has lost the other, which UTF-8 cannot hold.

    Whole pairs become the character they stand for; nothing else changes, control characters included.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def printable(text: str) -> str:
    """The text with a visible escape, as in JSON, for whatever could move a cursor, hide or turn around what it says.

    Line ends stay, and tabs become spaces. Inside a JSON document the escapes mean what they stand for.
    """
    if text.isprintable():
        return text
    lines = text.expandtabs(4).split("\n")
    return "\n".join("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line) for line in lines)


def one_line(text: str, limit: int = 500) -> str:
    """The text on one line of at most so many characters, printable."""
    return printable(" ".join(text[: 4 * limit].split()))[:limit]


def comment(line: str) -> str:
    """Return a line of Python that is a comment, whatever line ends the text holds."""
    return f"# {printable(' '.join(line.splitlines()))}".rstrip()


def number(count: int, noun: str) -> str:
    """So many of them, such as 1 run and 3 runs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time in the largest unit of which there are two, such as 9.6 s, 37 s or 2.5 h."""
    unit, size = next(((unit, size) for unit, size in _UNITS.items() if seconds >= 2 * size), ("s", 1))
    much = seconds / size
    return f"{much:{'.0f' if much >= 10 else '.2g'}} {unit}"
