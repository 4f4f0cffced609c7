"""Text from outside made safe to store as UTF-8 and to show on a terminal; numbers, times and costs as text."""

from __future__ import annotations

import json

_UNITS = {"d": 86400, "h": 3600, "min": 60}


def storable(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, which UTF-8 cannot encode.

    Whole pairs become the character they stand for; nothing else changes, control characters included.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def printable(text: str) -> str:
    """Return the text with JSON escapes for characters that could move the cursor, hide text or reverse it.

    Line ends stay, and tabs become spaces. Inside a JSON document the escapes mean what they stand for.
    """
    if text.isprintable():
        return text
    lines = text.expandtabs(4).split("\n")
    return "\n".join("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line) for line in lines)


def one_line(text: str, limit: int = 500) -> str:
    """Return the text on one line of at most `limit` characters, printable."""
    return printable(" ".join(text[: 4 * limit].split()))[:limit]


def comment(line: str) -> str:
    """Return a line of Python that is a comment, whatever line ends the text holds."""
    return f"# {printable(' '.join(line.splitlines()))}".rstrip()


def number(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 run" and "3 runs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time in the largest unit of which it has at least two, such as "9.6 s", "37 s" or "2.5 h"."""
    unit, size = next(((unit, size) for unit, size in _UNITS.items() if seconds >= 2 * size), ("s", 1))
    much = seconds / size
    return f"{much:{'.0f' if much >= 10 else '.2g'}} {unit}"


def dollars(cost_usd: float | None) -> str:
    """Return a cost in USD as text with two decimals, or with four if it is between 0 and 1; "unknown" for None."""
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:.2f}" if cost_usd == 0 or cost_usd >= 1 else f"${cost_usd:.4f}"
