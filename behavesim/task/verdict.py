"""The result of evaluating a program: its scores and trajectories, or the reason why it failed."""

from __future__ import annotations

from dataclasses import dataclass, field

from behavesim.task.score import Metrics
from behavesim.trajectory import AlgorithmRun


@dataclass(frozen=True)
class Verdict:
    """The evaluation of a program that did not fail: its score, and a score and a trajectory for each instance.

    `cpu_s` is the program's CPU seconds on all instances together. `metrics` are further numbers by name, means over
    the instances, and `feedback` is text about the program; both are empty if the task gives none. `counted_s` are the
    CPU seconds that count towards the limit, without repeated calls and compiling; None if unknown.
    """

    score: float
    scores: tuple[float, ...]
    trajectories: tuple[AlgorithmRun, ...]
    cpu_s: float
    metrics: Metrics = field(default_factory=dict)
    feedback: str = ""
    counted_s: float | None = None


@dataclass(frozen=True)
class Failure:
    """Why a program failed: a word such as "timeout", a line for people (at most 500 characters), and CPU seconds.

    `metrics` (numbers by name) and `feedback` (text) are what an evaluator says more of it; empty if nothing.
    """

    reason: str
    message: str = ""
    cpu_s: float = 0.0
    metrics: Metrics = field(default_factory=dict)
    feedback: str = ""
