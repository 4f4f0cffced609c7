"""Draw values over time with Unicode block characters, for terminals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from behavesim.analysis.table import SCORE

Steps = Sequence[tuple[int, float]]
"""A step function: (place, value from there on), in ascending order of place."""
BLOCKS = " ▁▂▃▄▅▆▇█"
"""Characters for a cell filled from below by 0 to 8 eighths."""


def at_the_end_of(steps: Steps, spans: int, end: int) -> list[float | None]:
    """Return a step function's value at the end of each of `spans` equal parts of 0 to `end`.

    None stands before the first step.
    """
    places = [place for place, _ in steps]
    passed = (bisect_right(places, (span + 1) * end / spans) for span in range(spans))
    return [steps[count - 1][1] if count else None for count in passed]


def area(values: Sequence[float | None], height: int) -> list[str]:
    """Return `height` lines of text, top line first, that draw each value as a column of blocks.

    Columns are scaled from the smallest value (an eighth of a line high) to the largest (`height` lines high). Equal
    values are all an eighth high. A None leaves its column empty.
    """
    known = [value for value in values if value is not None]
    low, span = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    # At least an eighth, since no block at all means that the value is unknown.
    eighths = [0 if v is None else 1 + round((8 * height - 1) * ((v - low) / span if span else 0.0)) for v in values]
    return ["".join(BLOCKS[min(max(level - 8 * row, 0), 8)] for level in eighths) for row in reversed(range(height))]


def from_template(template: float | None, bests: Steps, gain: float | None) -> Steps:
    """Return the steps of the best score so far, which begins with the template's score at candidate 0.

    `bests` are (candidate, score) of each new best candidate, in order. Those no better than the template are left out:
    all of them, unless `gain`, that of the last on the template, is positive. Without a template, `bests` are returned.
    """
    if template is None or gain is None:
        return bests
    is_maximised = bool(bests) and bests[-1][1] > template
    better = [(at, score) for at, score in bests if score != template and (score > template) == is_maximised]
    return [(0, template), *(better if gain > 0 else [])]


def convergence(bests: Steps, end: int, width: int, height: int) -> list[str]:
    """Return `height` lines (at least 3), `width` characters wide, that draw the best score over candidates 0 to `end`.

    `bests` are (candidate, score) of each new best program, in order, at least one (`from_template`). Higher columns
    are better in either direction of the objective. The first and last score are at the left, the number of candidates
    is below.
    """
    first, last = bests[0][1], bests[-1][1]
    margin = max(len(SCORE.text(first)), len(SCORE.text(last)))
    scores = at_the_end_of(bests, width - margin - 1, end)
    # The best score only gets better: if it sinks, the task minimises, and is drawn upside down.
    rows = area([None if score is None else score if last > first else -score for score in scores], height - 1)
    labels = [SCORE.text(last), *("" for _ in rows[2:]), SCORE.text(first)][-len(rows) :]
    lines = [f"{label:>{margin}} {row}" for label, row in zip(labels, rows, strict=True)]
    return [*lines, f"{end:,} candidates".rjust(width)]
