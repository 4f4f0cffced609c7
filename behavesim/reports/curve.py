"""Values over time as blocks of text, for any terminal that has Unicode."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"
"""A cell filled from below by eighths."""


def at_the_end_of(steps: Sequence[tuple[int, float]], spans: int, end: int) -> list[float | None]:
    """What a value that changed at `steps`, ascending, was at the end of each of equal spans of 0 to `end`.

    None where it had no value yet.
    """
    places = [place for place, _ in steps]
    passed = (bisect_right(places, (span + 1) * end / spans) for span in range(spans))
    return [steps[count - 1][1] if count else None for count in passed]


def area(values: Sequence[float | None], height: int) -> list[str]:
    """The values as an area between their least and their greatest, a column each: `height` lines, the top one first.

    Nothing stands where there is no value, and the least is an eighth of a line high.
    """
    known = [value for value in values if value is not None]
    low, span = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    eighths = [0 if v is None else 1 + round((8 * height - 1) * ((v - low) / span if span else 0.0)) for v in values]
    return ["".join(BLOCKS[min(max(level - 8 * row, 0), 8)] for level in eighths) for row in reversed(range(height))]
