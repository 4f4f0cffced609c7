"""Vector trajectories of an archive, encoded for the kernel that compares one with all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.blocks import BlockEncoder, Blocks, Encoder, Sims, checked
from behavesim.similarity.settings import MeasureSettings
from behavesim.trajectory import Trajectory


def vector_encoder() -> Encoder:
    """Return an encoder of vector trajectories, to which no run was appended yet; it stores coordinates as float64."""
    from behavesim.similarity.kernels import euclidean

    return BlockEncoder(
        euclidean.LANES, np.float64, np.nan, encode=lambda run, length: _padded(run, length).ravel(), compare=_compare
    )


def _compare(blocks: Blocks, run: Trajectory, length: int, first: int, settings: MeasureSettings) -> Sims:
    """Return, (runs - first,), unclipped Sim of a run's first `length` states and each run of `blocks` from `first` on.

    Raises DistanceError if the settings are strict and a distance is above the normaliser.
    """
    from behavesim.similarity.kernels import euclidean

    x = np.pad(_padded(run, length), ((0, -length % euclidean.STATES), (0, 0)), constant_values=np.nan)
    found = np.empty((2, blocks.lengths.size))
    flat = blocks.numbers.ravel(), blocks.starts, blocks.lengths
    euclidean.similarities(x, length, flat, first // euclidean.LANES, settings.unit, found)
    return checked(found, first, settings)


def _padded(run: Trajectory, length: int) -> NDArray[np.float64]:
    """Return the first `length` states, (length, dimensions), with zeros up to a multiple of COORDINATES columns."""
    from behavesim.similarity.kernels import euclidean

    states = run.data[:length]
    return np.pad(states, ((0, 0), (0, -states.shape[1] % euclidean.COORDINATES)))
