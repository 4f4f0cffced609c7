"""What algorithms did: trajectories, and samples of them."""

from behavesim.trajectory.behaviour import Behaviour, packed
from behavesim.trajectory.samples import AlgorithmRun, Samples, fixed_seed, pack, sample, trajectories_of, unpack
from behavesim.trajectory.trajectory import MAX_STATES, Kind, Trajectory, described

__all__ = [
    "MAX_STATES",
    "AlgorithmRun",
    "Behaviour",
    "Kind",
    "Samples",
    "Trajectory",
    "described",
    "fixed_seed",
    "pack",
    "packed",
    "sample",
    "trajectories_of",
    "unpack",
]
