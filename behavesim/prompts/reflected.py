"""Says in the prompts of reflections how sure a difference is, and what became of earlier hints."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from behavesim.state.members import Member, Note
from behavesim.task import Objective


def paired_spread(programs: Sequence[Member], objective: Objective) -> str:
    """Return a sentence on how the last program's score differs from the first's over the instances.

    It has the number of instances on which it is better, and mean and standard deviation of the differences. It is ""
    unless both were scored on the same two or more instances.
    """
    if len(programs) < 2 or len(programs[0].scores) != len(programs[-1].scores) or len(programs[0].scores) < 2:
        return ""
    worse, better = programs[0], programs[-1]
    differences = [new - old for old, new in zip(worse.scores, better.scores, strict=True)]
    won = sum(objective.utility(difference) > 0 for difference in differences)
    return (
        f"Program {len(programs)} is better than program 1 on {won} of {len(differences)} instances; its scores differ "
        f"by {fmean(differences):+.3g} ± {stdev(differences):.2g} (mean and standard deviation over the instances)."
    )


def what_became(hint: Note) -> str:
    """Return what the programs written with a hint scored, as the end of a line; "" if none is registered."""
    if not hint.children:
        return ""
    scores = ", ".join("rejected" if score is None else f"{score:.6g}" for score in hint.children)
    before = "" if hint.score is None else f"; the better parent {hint.score:.6g}"
    return f" (written with it: {scores}{before})"
