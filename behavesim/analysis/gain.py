"""How much better than the template a program is, over instances whose scores differ in size."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.task import Objective


def gain(scores: Sequence[float], template: Sequence[float], objective: Objective) -> float:
    """Return the mean over instances of how much better a program scores, relative to the template's score there.

    It is a fraction, negative where the program is worse. Where the template scores 0, the difference itself counts.
    It depends on the program and the template alone, so that no third program changes the order of two.
    """
    gains = [
        (objective.utility(ours) - objective.utility(base)) / (abs(base) or 1.0)
        for ours, base in zip(scores, template, strict=True)
    ]
    return sum(gains) / len(gains)
