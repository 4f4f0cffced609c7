"""How much better than the template a program is, over instances with scores of different size."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.task import Objective


def gain(scores: Sequence[float], template: Sequence[float], objective: Objective) -> float:
    """Return the mean over instances of (program − template) / |template|, turned so that higher is better.

    It is a fraction, negative if the program is worse. On an instance where the template scores 0, the plain
    difference counts. `scores` are the program's and `template` the template's scores, one per instance, at least one;
    ValueError if their numbers differ. No third program enters, so that adding one never changes the order of two.
    """
    gains = [
        (objective.utility(ours) - objective.utility(base)) / (abs(base) or 1.0)
        for ours, base in zip(scores, template, strict=True)
    ]
    return sum(gains) / len(gains)
