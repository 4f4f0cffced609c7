"""Numbers, tasks and rejections in the words of every screen and page; kept light, as a list of runs loads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from behavesim.analysis.table import FRACTION

REJECTED: Mapping[str, str] = {
    "crash": "killed by a signal",
    "empty": "without text",
    "exception": "crashed",
    "exit": "ended their process",
    "forbidden": "stopped by the sandbox",
    "given-up": "given up by the endpoint",
    "incomparable": "not comparable",
    "invalid-solution": "with invalid solutions",
    "keeps-state": "kept state",
    "memory": "out of memory",
    "no-function": "without the function",
    "non-finite": "without a finite score",
    "output": "with unreadable solutions",
    "refusal": "declined by the model",
    "signature": "with other parameters",
    "syntax": "with syntax errors",
    "timeout": "timed out",
    "too-long": "too long",
    "too-complex": "too complex",
    "truncated": "cut off",
}
"""What became of rejected candidates, in words that may follow a number."""


def percent(fraction: float | None) -> str:
    """A gap as people read it in a sentence."""
    return "unknown" if fraction is None else f"{FRACTION.text(fraction)} %"


def dollars(cost_usd: float | None) -> str:
    """A cost as people read it."""
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:.2f}" if cost_usd == 0 or cost_usd >= 1 else f"${cost_usd:.4f}"


def clock(seconds: float | None) -> str:
    """A duration as people read it, such as 2:05 or 1:00:00; a question mark where it is unknown."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def frequency(a_second: float) -> str:
    """How often something happens, by the unit of time in which it happens at least once; by the hour where in none."""
    if a_second >= 1:
        return f"{a_second:.1f}/s"
    return f"{60 * a_second:.1f}/min" if a_second >= 1 / 60 else f"{3600 * a_second:.1f}/h"


def rejections(reasons: Mapping[str, int]) -> str:
    """How many candidates were rejected for each reason, as people read it in a sentence."""
    return ", ".join(f"{count:,} {REJECTED.get(reason, reason)}" for reason, count in reasons.items())


def task_name(task: str) -> str:
    """The task's name; that of its file where it is one of a person's own."""
    return Path(task).stem if task.endswith(".py") else task
