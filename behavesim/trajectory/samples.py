"""What an algorithm did on one instance: a trajectory, or samples of those of an algorithm that draws at random."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.base.errors import TrajectoryError
from behavesim.trajectory.trajectory import Kind, Trajectory, described

Recorder = Callable[[np.random.Generator], Trajectory]
"""Runs an algorithm on an instance with the randomness it is given, and returns what the algorithm did."""

_LENGTH_BYTES = 4
"""Bytes of the length that `pack` stores before each AlgorithmRun."""
_SAMPLES = b"\xff"
"""First byte of stored samples; a stored trajectory begins with the index of its kind, which is smaller."""


@dataclass(frozen=True)
class Samples:
    """Runs of a stochastic algorithm on one instance (paper, "algorithms for stochastic internal state", option 1).

    The state at a step is the set of the runs' states at that step; a run that has ended stays in its last state.
    `runs` is any iterable of trajectories. Raises TrajectoryError if it is empty, if an entry is not a Trajectory, or
    if they are not all of one kind.
    """

    runs: tuple[Trajectory, ...]

    def __init__(self, runs: Iterable[Trajectory]) -> None:
        object.__setattr__(self, "runs", tuple(runs))
        for run in self.runs:
            if not isinstance(run, Trajectory):
                raise TrajectoryError(f"samples are made of trajectories; got {described(run)}")
        kinds = sorted({run.kind for run in self.runs})
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise TrajectoryError(f"samples need at least one run, all of one kind; got {found}")

    @property
    def kind(self) -> Kind:
        """The kind that all runs have."""
        return self.runs[0].kind

    def __len__(self) -> int:
        """Return the number of steps: the states of the longest run."""
        return max(len(run) for run in self.runs)

    def values(self) -> list[list[object]]:
        """Return, for JSON, a list for each run: a list of numbers for each state, for prefixes only the last state."""
        return [run.values() for run in self.runs]

    def to_bytes(self) -> bytes:
        """Return the runs as bytes, which `unpack` reads; the first byte is one that no trajectory begins with."""
        return _SAMPLES + pack(self.runs)


AlgorithmRun = Trajectory | Samples
"""What an algorithm did on one instance: one trajectory, or several of an algorithm that draws at random."""


def trajectories_of(run: AlgorithmRun) -> tuple[Trajectory, ...]:
    """Return the trajectories of a run: one, or each of the samples."""
    return run.runs if isinstance(run, Samples) else (run,)


def sample(record: Recorder, samples: int = 16, seed: int = 0) -> Samples:
    """Return what an algorithm does in `samples` calls of `record`; 16 usually suffice to tell two distributions apart.

    Call r, from 0, gets the generator `numpy.random.default_rng([seed, r])`. Raises TrajectoryError if `samples` is
    below 1, or if what `record` returns is no trajectory, or not all of one kind.
    """
    return Samples(record(np.random.default_rng([seed, run])) for run in range(samples))


def fixed_seed(record: Recorder, seed: int = 0) -> Trajectory:
    """Return what an algorithm does with one seed: reproducible and cheap, but biased (paper, option 2).

    `record` gets the generator `numpy.random.default_rng(seed)`.
    """
    return record(np.random.default_rng(seed))


def pack(behaviour: Sequence[AlgorithmRun]) -> bytes:
    """Return the runs of all instances as bytes, each after its length in bytes (32-bit little-endian)."""
    encoded = [run.to_bytes() for run in behaviour]
    return b"".join(len(data).to_bytes(_LENGTH_BYTES, "little") + data for data in encoded)


def unpack(blob: bytes) -> tuple[AlgorithmRun, ...]:
    """Return the runs from the bytes of `pack`; b"" gives no runs.

    Raises ValueError (TrajectoryError is one) if the bytes are cut off or are something else.
    """
    return tuple(_unpacked(part) for part in _parts(blob))


def _unpacked(data: bytes) -> AlgorithmRun:
    if data.startswith(_SAMPLES):
        return Samples(Trajectory.from_bytes(part) for part in _parts(data[len(_SAMPLES) :]))
    return Trajectory.from_bytes(data)


def _parts(blob: bytes) -> Iterator[bytes]:
    """Yield the bytes of each run that `pack` stored one after another; raises ValueError if the last is cut off."""
    end = 0
    while end < len(blob):
        start = end + _LENGTH_BYTES
        end = start + int.from_bytes(blob[end:start], "little")
        if end > len(blob):
            raise ValueError("a trajectory is cut off")
        yield blob[start:end]
