"""What becomes of a program: a score and what it did, or why it came to nothing."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.trajectory import AlgorithmRun, trajectories_of


@dataclass(frozen=True)
class Verdict:
    """What trusted code made of the solutions: a score and a trajectory for each instance."""

    score: float
    scores: tuple[float, ...]
    trajectories: tuple[AlgorithmRun, ...]
    cpu_s: float

    @property
    def states(self) -> int:
        """The states of all trajectories, those of samples in every run."""
        return sum(len(run) for each in self.trajectories for run in trajectories_of(each))


@dataclass(frozen=True)
class Failure:
    """Why a candidate came to nothing: one word of a closed list, and a line for people (at most 500 characters)."""

    reason: str
    message: str = ""
    cpu_s: float = 0.0
