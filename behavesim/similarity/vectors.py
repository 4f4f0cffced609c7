"""Vector trajectories of an archive, encoded for the kernel that compares one with all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.blocks import BlockBuilder, Blocks, Sims
from behavesim.similarity.settings import MeasureSettings
from behavesim.trajectory import Trajectory


class VectorEncoder:
    """Vector trajectories as float64 coordinates, (states × dimensions,) each, in blocks; see `blocks.Encoder`."""

    def __init__(self) -> None:
        from behavesim.similarity.kernels import euclidean

        self._builder = BlockBuilder(euclidean.LANES, np.float64, np.nan)

    @property
    def count(self) -> int:
        """How many there are."""
        return self._builder.count

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        self._builder.append(_coordinates(run, length).ravel())

    def batch(self) -> VectorBatch:
        """The runs so far."""
        return VectorBatch(self._builder.blocks())


@dataclass(frozen=True)
class VectorBatch:
    """Vector trajectories in blocks of coordinates; see `blocks.Batch`."""

    blocks: Blocks

    def similarities(self, run: Trajectory, length: int, first: int, settings: MeasureSettings) -> Sims:
        """(runs - first,) float64; see `blocks.Batch`."""
        from behavesim.similarity.kernels import euclidean

        x = np.pad(_coordinates(run, length), ((0, -length % euclidean.STATES), (0, 0)), constant_values=np.nan)
        numbers, starts, lengths = self.blocks.numbers.ravel(), self.blocks.starts, self.blocks.lengths
        block = first // euclidean.LANES
        sims, largest = np.empty((2, lengths.size))
        euclidean.similarities(x, length, numbers, starts, lengths, block, settings.unit, sims, largest)
        check_largest(sims[first:], largest[first:], settings)
        return sims[first:]


def _coordinates(run: Trajectory, length: int) -> NDArray[np.float64]:
    """Return (length, dimensions) the first states, padded with zero coordinates to a multiple of COORDINATES."""
    from behavesim.similarity.kernels import euclidean

    states = run.data[:length]
    return np.pad(states, ((0, 0), (0, -states.shape[1] % euclidean.COORDINATES)))


def check_largest(sims: Sims, largest: Sims, settings: MeasureSettings) -> None:
    """Raise DistanceError where the largest distance of a pair is above the normaliser; equal runs are left out."""
    settings.check_distance(largest[sims != 1.0].max(initial=0.0))
