"""Results of a program, step by step: bytes, solutions, then a verdict; or the reason why it failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from behavesim.task.score import Metrics
from behavesim.task.task import Solution
from behavesim.trajectory import AlgorithmRun


class Block(NamedTuple):
    """So many further instances of the search, from number `first` on; see `Task.instance`.

    A program gets `share` times the time and output that it has on the instances of the split: it is `size` divided by
    their number.
    """

    first: int
    size: int
    share: float


@dataclass(frozen=True)
class Sent:
    """The bytes that a program's process sent: nothing of them is read or believed yet."""

    data: bytes
    instances: int
    cpu_s: float  # of all its processes
    counted_s: float | None = None  # of them what counts towards the limit, without the allowance for the first call


@dataclass(frozen=True)
class Solved:
    """The solutions a program returned, one for each instance of a split, in order. They are not checked yet.

    `cpu_s` and `counted_s` are as in `Sent`.
    """

    solutions: tuple[Solution, ...]
    cpu_s: float
    counted_s: float | None = None


@dataclass(frozen=True)
class Verdict:
    """The evaluation of a program that did not fail: its score, and a score and a trajectory for each instance.

    `cpu_s` and `counted_s` are as in `Sent`. `metrics` are means over the instances, `feedback` is text about the
    program; both are empty if the task gives none.
    """

    score: float
    scores: tuple[float, ...]
    trajectories: Sequence[AlgorithmRun]
    cpu_s: float
    metrics: Metrics = field(default_factory=dict)
    feedback: str = ""
    counted_s: float | None = None


# Every word for why a candidate is rejected, by who says it. `engine/outcome.py` makes the event of it, and
# `reports/words.py` has the words for people.
#
# the reply      given-up (engine/outcome.py); empty, no-function, refusal, truncated, syntax, too-long,
#                too-complex (programs/reading.py, parsing.py); signature (functions.py); edit, outside (extract.py)
# the program    exception, exit, forbidden, invalid-solution, memory, output (sandbox/program.py, in its own process)
# its process    timeout, memory, crash, forbidden, exit, output (sandbox/pool.py, by how the process ended)
# its score      output, invalid-solution, non-finite (sandbox/referee.py); costly-score (judge.py, referee.py);
#                keeps-state (program.py)
# its behaviour  incomparable (engine/outcome.py)
# its tuning     not-told-apart (engine/outcome.py)
# an evaluator   evaluator, evaluator-error (evaluators/evaluation.py), beyond-bound (doubt.py)
# Those that depend on the speed and the memory of the machine, or on limits that a fork may change.
TIMED = ("timeout", "memory", "costly-score")


@dataclass(frozen=True)
class Failure:
    """Why a program failed: a word such as "timeout", a line for people (at most 500 characters), and CPU seconds.

    `metrics` and `feedback` are what an evaluator says more of it.
    """

    reason: str
    message: str = ""
    cpu_s: float = 0.0
    metrics: Metrics = field(default_factory=dict)
    feedback: str = ""
