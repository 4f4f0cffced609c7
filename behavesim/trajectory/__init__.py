"""What algorithms did: trajectories, and samples of them."""

from behavesim.trajectory.samples import (
    AlgorithmRun,
    Samples,
    fixed_seed,
    pack,
    sample,
    trajectories_of,
    unpack,
)
from behavesim.trajectory.trajectory import MAX_STATES, Kind, Trajectory, described

__all__ = [
    "MAX_STATES",
    "AlgorithmRun",
    "Kind",
    "Samples",
    "Trajectory",
    "described",
    "fixed_seed",
    "pack",
    "sample",
    "trajectories_of",
    "unpack",
]
