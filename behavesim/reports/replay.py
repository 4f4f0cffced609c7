"""Say in words how a replay differs from its original run."""

from __future__ import annotations

from behavesim.analysis.replayed import ReplayDifference


def replay_lines(beside: ReplayDifference) -> list[str]:
    """Return a line for each aspect in which candidates differ, or one line that says that all are equal."""
    if not beside.differing:
        return [f"all {beside.candidates} candidates are as in {beside.of}"]
    return [
        f"{count} of {beside.candidates} candidates have another {aspect} than in {beside.of}, "
        f"first candidate {beside.first[aspect]}"
        for aspect, count in beside.differing.items()
    ]
