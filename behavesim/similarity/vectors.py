"""Vector trajectories of an archive, encoded for the kernel that compares one with all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from behavesim.similarity.blocks import Blocks, Rows, Sims
from behavesim.similarity.settings import Settings
from behavesim.trajectory import Trajectory


class VectorLanes:
    """The vector trajectories of one slot, truncated alike, as coordinates in lanes; append-only."""

    def __init__(self) -> None:
        from behavesim.similarity.kernels import euclidean

        self._blocks = Blocks(euclidean.LANES, np.float64, np.nan)

    @property
    def count(self) -> int:
        """How many members there are."""
        return self._blocks.count

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        self._blocks.append(run.data[:length].ravel())

    def snapshot(self) -> VectorMembers:
        """The members so far."""
        return VectorMembers(self._blocks.snapshot())


@dataclass(frozen=True)
class VectorMembers:
    """The vector trajectories of one slot at one moment."""

    rows: Rows

    def similarities(self, run: Trajectory, length: int, first: int, settings: Settings) -> Sims:
        """See `blocks.Members`."""
        from behavesim.similarity.kernels import euclidean

        padding = -length % euclidean.TILE
        x = np.pad(run.data[:length], ((0, padding), (0, 0)), constant_values=np.nan)
        sims, largest = np.empty((2, self.rows.lengths.size))
        euclidean.similarities(x, length, *self.rows.arrays, first // euclidean.LANES, settings.unit, sims, largest)
        check_largest(sims[first:], largest[first:], settings)
        return sims[first:]


def check_largest(sims: Sims, largest: Sims, settings: Settings) -> None:
    """Raise TrajectoryError where a distance is above the normaliser; no distance at all is none in any unit."""
    settings.check_distance(largest[sims != 1.0].max(initial=0.0))
