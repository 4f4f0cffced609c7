"""What algorithms did: trajectories, and samples of them."""

from behavesim.trajectory.trajectory import (
    MAX_STATES,
    AlgorithmRun,
    Behaviour,
    Kind,
    Samples,
    Trajectory,
    describe_value,
    fixed_seed,
    pack,
    pack_states,
    sample,
    trajectories_of,
    unpack,
)

__all__ = [
    "MAX_STATES",
    "AlgorithmRun",
    "Behaviour",
    "Kind",
    "Samples",
    "Trajectory",
    "describe_value",
    "fixed_seed",
    "pack",
    "pack_states",
    "sample",
    "trajectories_of",
    "unpack",
]
