"""A program in a few words: its name, and what it is worth."""

from __future__ import annotations

from behavesim.analysis.table import SCORE
from behavesim.reports.words import percent
from behavesim.state.events import TEMPLATE


def named(candidate: int) -> str:
    """Return the name of a program for people: "candidate 7", or "the template"."""
    return "the template" if candidate == TEMPLATE else f"candidate {candidate}"


def worth(candidate: int, score: float, gap: float | None) -> str:
    """Return a program's score, its gap if known, and its name, as one line; the gap is a fraction."""
    return f"{SCORE.text(score)}{'' if gap is None else f', gap {percent(gap)}'} ({named(candidate)})"


def beside_template(template: float, best: float, gain: float) -> str:
    """Return a line that compares the best score with the template's.

    `gain` is the improvement in the scores' unit, negative if the best is worse. It is shown in per cent of the
    template's score, or as it is if that score is 0.
    """
    much = f"{100 * abs(gain / template):.1f} %" if template else SCORE.text(abs(gain))
    said = f"template {SCORE.text(template)} → best {SCORE.text(best)}"
    if gain > 0:
        return f"{said}, {much} better"
    worse = f", {much} worse" if gain < 0 else ""
    return f"{said}{worse}: nothing has beaten the template yet"
