"""Numbers, tasks and rejections in the words of every screen and page; kept light, as a list of runs loads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from behavesim.analysis.summary import Summary
from behavesim.analysis.table import FRACTION
from behavesim.engine.caps import BY_NAME

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
"""Words for each reason for rejection that can follow a number, such as "3 timed out"."""


def percent(fraction: float | None) -> str:
    """Return a fraction as text in per cent, such as "12.50 %"; "unknown" for None."""
    return "unknown" if fraction is None else f"{FRACTION.text(fraction)} %"


def clock(seconds: float | None) -> str:
    """Return a duration in seconds as minutes:seconds ("2:05") or hours:minutes:seconds ("1:00:00"); "?" for None."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def frequency(a_second: float) -> str:
    """Return a rate as text: per second if it is at least 1/s, else per minute if at least 1/min, else per hour."""
    if a_second >= 1:
        return f"{a_second:.1f}/s"
    return f"{60 * a_second:.1f}/min" if a_second >= 1 / 60 else f"{3600 * a_second:.1f}/h"


def rejections(reasons: Mapping[str, int]) -> str:
    """Return counts by reason as text, such as "3 out of memory, 1 timed out"; empty without any."""
    return ", ".join(f"{count:,} {REJECTED.get(reason, reason)}" for reason, count in reasons.items())


def task_name(task: str) -> str:
    """Return a task's short name: that of its file, without folder and suffix, if it is a path."""
    return Path(task).stem if task.endswith(".py") else task


def state_in_words(summary: Summary) -> str:
    """Return the state of a run with what ended it before its budget was spent, such as "stopped: time is up"."""
    reason = summary.stopped_by or ""
    why = BY_NAME[reason].words if reason in BY_NAME else reason
    return f"{summary.state}: {why}" if why and summary.state != "finished" else summary.state
