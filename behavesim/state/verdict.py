"""The result of evaluating a program: its scores and trajectories, or the reason why it failed."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.trajectory import AlgorithmRun, trajectories_of


@dataclass(frozen=True)
class Verdict:
    """The evaluation of a program by trusted code: its score, and a score and a trajectory for each instance.

    `cpu_s` is the program's CPU time in seconds.
    """

    score: float
    scores: tuple[float, ...]
    trajectories: tuple[AlgorithmRun, ...]
    cpu_s: float

    @property
    def states(self) -> int:
        """The number of states in all trajectories, over all samples where a program was run several times."""
        return sum(len(run) for each in self.trajectories for run in trajectories_of(each))


@dataclass(frozen=True)
class Failure:
    """Why a program failed: one word of a closed list, a line for people (at most 500 characters), and CPU seconds."""

    reason: str
    message: str = ""
    cpu_s: float = 0.0
