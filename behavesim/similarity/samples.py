"""Stochastic algorithms: several runs on one instance, compared as distributions, or one run with a fixed seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from behavesim.errors import TrajectoryError
from behavesim.trajectory import Kind, Trajectory, described

Recorder = Callable[[np.random.Generator], Trajectory]
"""Runs an algorithm on an instance with the randomness it is given, and returns what the algorithm did."""


@dataclass(frozen=True)
class Samples:
    """Runs of a stochastic algorithm on one instance (paper, "algorithms for stochastic internal state", option 1).

    The state at a step is the set of the runs' states at that step; a run that has ended stays in its last state.
    """

    runs: tuple[Trajectory, ...]

    def __init__(self, runs: Iterable[Trajectory]) -> None:
        object.__setattr__(self, "runs", tuple(runs))
        for run in self.runs:
            if not isinstance(run, Trajectory):
                raise TrajectoryError(f"samples are made of trajectories; got {described(run)}")
        kinds = sorted({run.kind for run in self.runs})
        if len(kinds) != 1:
            raise TrajectoryError(
                f"samples need at least one run, all of one kind; got {' and '.join(kinds) or 'none'}"
            )

    @property
    def kind(self) -> Kind:
        """The kind of the runs."""
        return self.runs[0].kind

    def __len__(self) -> int:
        """The number of steps: the states of the longest run."""
        return max(len(run) for run in self.runs)


def sample(record: Recorder, samples: int = 16, seed: int = 0) -> Samples:
    """The algorithm's behaviour in `samples` independent runs; 16 already tell two laws apart and equal ones alike."""
    return Samples(record(np.random.default_rng([seed, run])) for run in range(samples))


def fixed_seed(record: Recorder, seed: int = 0) -> Trajectory:
    """The algorithm's behaviour under one seed: reproducible and cheap, but biased (paper, option 2)."""
    return record(np.random.default_rng(seed))
