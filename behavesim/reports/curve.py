"""Values over time as blocks of text, for any terminal that has Unicode."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from behavesim.analysis.table import SCORE

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


def convergence(bests: Sequence[tuple[int, float]], end: int, width: int, height: int) -> list[str]:
    """The best score as `end` candidates went by, upwards being better, in so many columns and lines, at least two.

    `bests` are the candidates that were the best and their scores, the first of them at least; its score and the last
    one's stand at the left, and the candidates below.
    """
    first, last = bests[0][1], bests[-1][1]
    margin = max(len(SCORE.text(first)), len(SCORE.text(last)))
    scores = at_the_end_of(bests, width - margin - 1, end)
    rows = area([None if score is None else score if last > first else -score for score in scores], height - 1)
    labels = [SCORE.text(last), *("" for _ in rows[2:]), SCORE.text(first)][-len(rows) :]
    lines = [f"{label:>{margin}} {row}" for label, row in zip(labels, rows, strict=True)]
    return [*lines, f"{end:,} candidates".rjust(width)]
