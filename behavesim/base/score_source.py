"""Who computes a program's score. The type stands alone, since lists of runs load nothing else of a task."""

from __future__ import annotations

from typing import Literal

# Who computes a program's score: code that the program cannot reach, or code that runs beside it in one sandbox.
ScoreSource = Literal["trusted", "self-reported"]


def mark(source: ScoreSource) -> str:
    """Return what stands behind a score in a line of text: ", self-reported", or "" for a trusted one."""
    return "" if source == "trusted" else f", {source}"
