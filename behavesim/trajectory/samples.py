"""What an algorithm did on one instance: a trajectory, or samples of those of an algorithm that draws at random."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.base.errors import TrajectoryError
from behavesim.trajectory.trajectory import Kind, Trajectory, described

Recorder = Callable[[np.random.Generator], Trajectory]
"""Runs an algorithm on an instance with the randomness it is given, and returns what the algorithm did."""

_LENGTH = struct.Struct("<I")
_SAMPLES = b"\xff"
"""First byte of stored samples; a stored trajectory begins with the index of its kind, which is smaller."""


@dataclass(frozen=True)
class Samples:
    """Runs of a stochastic algorithm on one instance (paper, "algorithms for stochastic internal state", option 1).

    The state at a step is the set of the runs' states at that step; a run that has ended stays in its last state.
    Raises TrajectoryError for what are no trajectories, or not all of one kind.
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
        """Return the kind of the runs."""
        return self.runs[0].kind

    def __len__(self) -> int:
        """Return the number of steps: the states of the longest run."""
        return max(len(run) for run in self.runs)

    def values(self) -> list[list[object]]:
        """Return plain lists for JSON: the values of each run."""
        return [run.values() for run in self.runs]

    def to_bytes(self) -> bytes:
        """Return the runs as bytes, after a first byte that no trajectory begins with; see `unpack`."""
        return _SAMPLES + pack(self.runs)


AlgorithmRun = Trajectory | Samples
"""What an algorithm did on one instance from one starting point."""


def trajectories_of(run: AlgorithmRun) -> tuple[Trajectory, ...]:
    """Return the trajectories of a run: one, or each of the samples."""
    return run.runs if isinstance(run, Samples) else (run,)


def sample(record: Recorder, samples: int = 16, seed: int = 0) -> Samples:
    """Return the behaviour in `samples` independent runs; 16 are enough to distinguish two distributions."""
    return Samples(record(np.random.default_rng([seed, run])) for run in range(samples))


def fixed_seed(record: Recorder, seed: int = 0) -> Trajectory:
    """Return the behaviour under one seed: reproducible and cheap, but biased (paper, option 2)."""
    return record(np.random.default_rng(seed))


def pack(behaviour: Sequence[AlgorithmRun]) -> bytes:
    """Return the runs of all instances as bytes, each after its length in bytes (32-bit little-endian)."""
    encoded = [run.to_bytes() for run in behaviour]
    return b"".join(_LENGTH.pack(len(data)) + data for data in encoded)


def unpack(blob: bytes) -> tuple[AlgorithmRun, ...]:
    """Return the runs from the bytes of `pack`; raises ValueError where the bytes are cut off or are something else."""
    return tuple(_unpacked(part) for part in _parts(blob))


def _unpacked(data: bytes) -> AlgorithmRun:
    if data.startswith(_SAMPLES):
        return Samples(Trajectory.from_bytes(part) for part in _parts(data[len(_SAMPLES) :]))
    return Trajectory.from_bytes(data)


def _parts(blob: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(blob):
        if start + _LENGTH.size > len(blob):
            raise ValueError("a trajectory's length is cut off")
        (length,) = _LENGTH.unpack_from(blob, start)
        start += _LENGTH.size
        if start + length > len(blob):
            raise ValueError("a trajectory is cut off")
        yield blob[start : start + length]
        start += length
