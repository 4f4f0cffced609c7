"""A program in a few words: its name, and what it is worth."""

from __future__ import annotations

from behavesim.analysis.table import SCORE
from behavesim.reports.words import percent
from behavesim.state.events import TEMPLATE


def named(candidate: int) -> str:
    """What a person calls a program."""
    return "the template" if candidate == TEMPLATE else f"candidate {candidate}"


def worth(candidate: int, score: float, gap: float | None) -> str:
    """What a program is worth in a line: its score, its gap where that is known, and which one it is."""
    return f"{SCORE.text(score)}{'' if gap is None else f', gap {percent(gap)}'} ({named(candidate)})"


def beside_template(template: float, best: float, gain: float) -> str:
    """How the best score stands to the template's; `gain` is how much better it is, negative where it is worse."""
    much = f"{100 * abs(gain / template):.1f} %" if template else SCORE.text(abs(gain))
    said = f"template {SCORE.text(template)} → best {SCORE.text(best)}"
    if gain > 0:
        return f"{said}, {much} better"
    worse = f", {much} worse" if gain < 0 else ""
    return f"{said}{worse}: nothing has beaten the template yet"
