"""Limits on the time, memory and output of one candidate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from behavesim.base.text import duration

if TYPE_CHECKING:
    from behavesim.base.config import Settings  # the zygote imports this module, and must not load pydantic
    from behavesim.task import Split, Task  # and a tree's keeper must not load numpy

# Bytes in a megabyte, as the limits count them.
MEGABYTE = 1 << 20
# `Limits.timeout_advice` warns above this multiple of the template's time, and advises a fifth of it: models write
# programs that are several times slower than the template, hardly ever a hundred times.
LOOSE = 100
# CPU seconds that scoring the solutions of one program may always take, however short `timeout_s` is.
LEAST_SCORE_S = 30.0
# A program is stopped at this multiple of its limit on CPU time.
#
# A program that ends above the limit, but before that, is run again, alone. On a busy machine the same work takes more
# CPU time, as caches and cores are shared: up to half as much again.
NEAR = 1.5


@dataclass(frozen=True)
class Limits:
    """What a candidate may use on all instances of a split together; a megabyte has 2 ** 20 bytes."""

    timeout_s: float = 50.0  # CPU time: waiting on a busy machine does not count
    memory_mb: int = 2048  # beyond the interpreter and the libraries it starts with
    output_mb: int = 8  # of all that it sends: solutions and, for a stateless task, answers
    first_call_s: float = 0.0  # CPU time that the first call may take besides `timeout_s`: numba compiles there

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """Return the limits that a run's settings give: they are for all search instances together."""
        return cls(settings.timeout_s, settings.memory_mb, settings.output_mb)

    def on(self, task: Task, split: Split, starts: int = 1) -> Limits:
        """Return the limits for a split, given that these are the limits for the split `search`.

        Time and output grow in proportion to the number of instances, each begun `starts` times, and never shrink:
        what a program does before its first instance takes as long. `first_call_s` is the task's. Raises TaskError if
        the task's instances cannot be made.
        """
        from behavesim.task import instances_of

        share = starts * max(1.0, len(instances_of(task, split)) / len(instances_of(task, "search")))
        return replace(self.times(share), first_call_s=float(task.first_call_s))

    def times(self, share: float) -> Limits:
        """Return the limits on `share` times as many instances: time and output grow in proportion."""
        output_mb = math.ceil(self.output_mb * share)
        return replace(self, timeout_s=self.timeout_s * share, output_mb=output_mb)

    def limit_s(self, first_s: float) -> float:
        """Return the limit on a program's CPU time (s) if its first call took `first_s`: `timeout_s` plus `free_s`."""
        return self.timeout_s + self.free_s(first_s)

    def free_s(self, first_s: float) -> float:
        """Return how much of a first call's CPU time `first_s` does not count (s): at most `first_call_s`."""
        return min(first_s, self.first_call_s)

    def charged_s(self, cpu_s: float, first_s: float) -> float:
        """Return the CPU time that counts towards `timeout_s` (s); the first call took `first_s` of `cpu_s`."""
        return cpu_s - self.free_s(first_s)

    def usage_text(self, cpu_s: float, first_s: float) -> str:
        """Return the CPU time that counts and its limit, for messages: "13 s of CPU time; the limit is 12 s"."""
        return f"{self.charged_s(cpu_s, first_s):.3g} s of CPU time; the limit is {self.timeout_s:.3g} s"

    def kill_s(self, first_s: float) -> float:
        """Return the CPU time (s) at which a program is stopped: NEAR times `limit_s(first_s)`."""
        return NEAR * self.limit_s(first_s)

    @property
    def output(self) -> int:
        """`output_mb` in bytes."""
        return self.output_mb * MEGABYTE

    @property
    def memory(self) -> int:
        """`memory_mb` in bytes."""
        return self.memory_mb * MEGABYTE

    @property
    def wall_limit_s(self) -> float:
        """Limit on wall-clock time (s), for programs that sleep; waiting for a core adds to it, up to `wall_kill_s`."""
        return 2 * self.limit_s(math.inf) + 2

    @property
    def score_s(self) -> float:
        """Limit on the CPU time (s) in which trusted code scores the solutions of one program."""
        return max(self.timeout_s, LEAST_SCORE_S)

    @property
    def score_wall_s(self) -> float:
        """Limit on wall-clock time (s) for the same; time without a core is added, up to ten times this."""
        return 2 * self.score_s + 2

    @property
    def in_words(self) -> str:
        """`timeout_s` and `wall_limit_s` as a phrase that follows a noun, for messages."""
        return f"at most {self.timeout_s:g} s of CPU time (timeout_s) and {duration(self.wall_limit_s)} by the clock"

    def timeout_advice(self, template_s: float) -> str:
        """Return a line of advice if `timeout_s` is more than LOOSE times the template's `template_s`, else ""."""
        times = self.timeout_s / max(template_s, 0.001)
        if times <= LOOSE:
            return ""
        advice = f"consider --set timeout_s={max(1, math.ceil(LOOSE / 5 * template_s))}"
        costs = f"a program that never ends costs {duration(self.timeout_s)}"
        return f"the time limit is {times:,.0f} times what the template took; {costs}: {advice}"

    @property
    def wall_kill_s(self) -> float:
        """Wall-clock time (s) after which a program is killed however busy the machine is: ten times `wall_limit_s`."""
        return 10 * self.wall_limit_s
