"""Say in words how a replay differs from its original run."""

from __future__ import annotations

from behavesim.analysis.replayed import ReplayDifference


def replay_lines(beside: ReplayDifference) -> list[str]:
    """Return a line for each aspect in which candidates differ, or one line that says that all are equal."""
    if not beside.differing:
        return [f"as {beside.of} in every one of {beside.candidates} candidates"]
    return [
        f"{count} of {beside.candidates} candidates have another {aspect} than in {beside.of}, "
        f"the first is {beside.first[aspect]}"
        for aspect, count in beside.differing.items()
    ]
