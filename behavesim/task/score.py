"""What `Task.score` may return besides a number: named metrics, and feedback in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import SupportsFloat

from behavesim.base.text import one_line, storable

# Numbers by name; in place of one that is not finite or not known stands a text of WORDS.
Metrics = Mapping[str, float | str]
# The text in place of a metric's mean if some instances lack the metric and no other text stands in its place.
MISSING = "missing"
# All texts that may stand in place of a metric's number.
WORDS = frozenset({"nan", "inf", "-inf", MISSING})
# Prefix of the names of metrics that people see and models must not.
PRIVATE = "private"

# Most metrics of a program that are kept: each is a column of tables and pages.
MOST_METRICS = 100
# Longest name of a metric, in characters; longer ones are cut: it is the heading of a column.
LONGEST_METRIC_NAME = 100
# Longest feedback of a program that is kept, in characters; the rest is cut, as the journal holds it for each.
MOST_FEEDBACK = 8_000


@dataclass(frozen=True)
class Score:
    """The score of a solution with more about it; `Task.score` may return it in place of a number.

    `metrics` are further numbers by name, of which the first 100 are kept: people and prompts see them, and the search
    does not decide by them. `feedback` is text for people and models, of which 8 000 characters are kept.
    """

    value: SupportsFloat
    metrics: Mapping[str, SupportsFloat] = field(default_factory=dict)
    feedback: str = ""

    def __float__(self) -> float:
        """Return the score alone, so that code that needs only the number takes a Score too."""
        return float(self.value)


def limit_metrics(metrics: Mapping[str, SupportsFloat | str]) -> dict[str, float | str]:
    """Return the first MOST_METRICS metrics, with short names, as floats or texts of WORDS; ValueError for others."""
    kept = list(metrics.items())[:MOST_METRICS]
    return {one_line(str(name), LONGEST_METRIC_NAME): _number_or_word(value) for name, value in kept}


def _number_or_word(value: SupportsFloat | str) -> float | str:
    """Return a number as a float, or as its text if it is not finite; one of WORDS as it is."""
    if isinstance(value, str):
        if value not in WORDS:
            raise ValueError(f"{value[:LONGEST_METRIC_NAME]!r} is no number")
        return value
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the largest float
        return "-inf" if value < 0 else "inf"  # type: ignore[operator]  # only numbers overflow
    return number if math.isfinite(number) else str(number)


def mean_metrics(metrics: Sequence[Metrics]) -> dict[str, float | str]:
    """Return the mean of each metric over instances, or a text of WORDS, from one mapping for each instance."""
    names = dict.fromkeys(name for each in metrics for name in each)
    return {name: _mean([each.get(name, MISSING) for each in metrics]) for name in list(names)[:MOST_METRICS]}


def _mean(values: Sequence[float | str]) -> float | str:
    # no mean over some instances alone, which would look better than it is; what is wrong says more than MISSING
    words = [value for value in values if isinstance(value, str)]
    if words:
        return next((word for word in words if word != MISSING), MISSING)
    try:
        return math.fsum(map(float, values)) / len(values)
    except OverflowError:  # the sum is beyond the largest float, and the mean is not
        return math.fsum(float(value) / len(values) for value in values)


def join_feedback(feedback: Sequence[str]) -> str:
    """Return the feedback on all instances as one text of at most MOST_FEEDBACK characters, each with its number."""
    if len(feedback) == 1:
        return limit_feedback(feedback[0])
    return limit_feedback("\n".join(f"instance {number}: {said}" for number, said in enumerate(feedback, 1) if said))


def limit_feedback(feedback: str) -> str:
    """Return a text that can be stored, cut to MOST_FEEDBACK characters, where a cut one ends in "…"."""
    text = storable(feedback[: MOST_FEEDBACK + 1])
    return text if len(text) <= MOST_FEEDBACK else f"{text[: MOST_FEEDBACK - 1]}…"
