"""Evaluates programs for a command, and says on stderr how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic

from behavesim.application.evaluation import Evaluation, absence, evaluate_programs
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.task import Split, Task

from .output import busy, tell

# The exit code if a program that a person gave is rejected.
REJECTED = 3
# Least seconds between two lines on how many programs were tried.
EVERY_S = 10
# Largest number of programs of which each is named before they are tried.
NAMED = 9


def try_once(
    settings: Settings, task: Task, programs: Sequence[tuple[str, str]], split: Split, limits: str = ""
) -> list[Evaluation]:
    """Evaluate programs on a split's instances, as `evaluate_programs` does, and say on stderr what is tried and how
    far it is.

    `limits` is added to the line on what is tried; it says how long each program may take. Raises UsageError if the
    task has no instances of the split (see `absence`), and as `evaluate_programs` does.
    """
    if said := absence(task, split, settings.task):
        raise UsageError(said)
    named = f"{len(programs)} programs" if len(programs) > NAMED else ", ".join(name for name, _ in programs)
    busy(f"trying {named} on {split} instances{limits}")
    return asyncio.run(evaluate_programs(settings, task, programs, split, Counting(len(programs)).ended))


class Counting:
    """Says how many of several programs were tried, and which was the last: at most once in EVERY_S seconds."""

    def __init__(self, total: int) -> None:
        """Begin before the first of `total` programs."""
        self._total, self._tried, self._said_at = total, 0, monotonic()

    def ended(self, result: Evaluation) -> None:
        """Count a result; print a line on stderr if the last line, or the start, is at least EVERY_S seconds ago."""
        self._tried += 1
        if monotonic() - self._said_at >= EVERY_S:
            self._said_at = monotonic()
            tell(f"{self._tried} of {self._total} tried, last {result.file}")
