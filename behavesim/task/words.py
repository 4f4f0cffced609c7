"""A task's instances, decisions and costs as prompts and comparisons say them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.base.text import one_line
from behavesim.task.calls import instances_of, raised
from behavesim.task.task import Split, Task

LONGEST_NAME = 40
"""An instance's name is cut to this many characters: it is the first column of a table in prompts."""
LONGEST_CHOICE = 160
"""A decision in words is cut to this many characters."""


def ranked(rank: int, measure: str) -> str:
    """Return a rank, from 1, by a measure such as "nearest": "the nearest", "the 2nd nearest", "the 11th nearest"."""
    if rank == 1:
        return f"the {measure}"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"the {rank}{ending} {measure}"


@dataclass(frozen=True)
class InWords:
    """The instances of a task's split in words; indices of instances count from 0, and from 1 in the words.

    All methods raise TaskError, which names the task's method, if that method raises or returns what it must not.
    """

    task: Task
    split: Split = "search"

    def name(self, index: int) -> str:
        """Return what kind of instance the one at `index` is, in a few words; "" if the task does not say."""
        return self._line("instance_name", LONGEST_NAME, index)

    def instance(self, index: int) -> str:
        """Return a phrase such as "instance 2 (300 cities, clustered)"; of an only instance "the instance"."""
        if len(instances_of(self.task, self.split)) == 1:
            return "the instance"
        name = self.name(index)
        return f"instance {index + 1}{name and f' ({name})'}"

    def choice(self, index: int, before: Sequence[int], decision: int) -> str:
        """Return a decision of a prefix trajectory on an instance in words; `before` are all decisions before it."""
        return self._line("choice_in_words", LONGEST_CHOICE, index, before, decision)

    def costs(self, index: int, decisions: Sequence[int]) -> tuple[float, ...]:
        """Return the cost (the gain, if scores are maximised) of each of the decisions; () if the task has none."""
        found = self._called("cost_so_far", index, decisions)
        if found is None:
            return ()
        wanted = f"`cost_so_far` of task {self.task.name!r} must return None or {len(decisions)} finite numbers"
        try:
            total = [float(cost) for cost in found]
        except (TypeError, ValueError, OverflowError) as error:
            raise TaskError(f"{wanted}, not {type(found).__name__} ({error})") from None
        if len(total) != len(decisions) or not all(map(math.isfinite, total)):
            raise TaskError(f"{wanted}, one for each decision")
        return tuple(cost - before for cost, before in zip(total, [0.0, *total], strict=False))

    def _line(self, method: str, longest: int, index: int, *rest: object) -> str:
        """Return a text of the task's `method` for an instance on one line of at most `longest` characters."""
        found = self._called(method, index, *rest)
        if not isinstance(found, str):
            raise TaskError(f"`{method}` of task {self.task.name!r} must return a text, not {type(found).__name__}")
        # a back-quote could open a fenced block, which readers of a prompt would take for a program
        return one_line(found.replace("`", "'"), longest)

    def _called(self, method: str, index: int, *rest: object) -> Any:
        """Return what the task's `method` returns for an instance; raises TaskError, which names it, if it fails."""
        try:
            return getattr(self.task, method)(instances_of(self.task, self.split)[index], *rest)
        except TaskError:
            raise
        except Exception as error:
            raise raised(self.task, method, error) from error
