"""What one candidate may use up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from behavesim.base.text import duration
from behavesim.task import Split, Task, instances_of

if TYPE_CHECKING:
    from behavesim.base.config import Settings  # the zygote, which has limits too, shall not carry pydantic

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """A candidate's budget over all instances of a split.

    `timeout_s` is CPU time, in seconds, so that a busy machine condemns nobody; `memory_mb` is what the candidate may
    allocate beyond the interpreter and the libraries it starts with; `output_mb` bounds the solutions it returns.
    """

    timeout_s: float = 50.0
    memory_mb: int = 2048
    output_mb: int = 8

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The limits of a run on the instances of its search."""
        return cls(settings.timeout_s, settings.memory_mb, settings.output_mb)

    def on(self, task: Task, split: Split) -> Limits:
        """The limits of a split, where these are those of the search: as much time and output for each instance.

        Never less than the search's, since what a program takes before its first instance does not shrink with them.
        Raises TaskError where there are none.
        """
        share = max(1.0, len(instances_of(task, split)) / len(instances_of(task, "search")))
        return replace(self, timeout_s=self.timeout_s * share, output_mb=math.ceil(self.output_mb * share))

    @property
    def wall_s(self) -> float:
        """The wall-clock backstop, in seconds, for programs that sleep or wait instead of computing.

        What a program waits for a core does not count, or a busy machine would condemn it after all.
        """
        return 2 * self.timeout_s + 2

    @property
    def in_words(self) -> str:
        """How long a program may take, for a person who waits for one."""
        return f"at most {self.timeout_s:g} s of CPU time (timeout_s) and {duration(self.wall_s)} by the clock"

    @property
    def longest_s(self) -> float:
        """The wall-clock seconds after which a program ends however busy the machine is."""
        return 10 * self.wall_s
