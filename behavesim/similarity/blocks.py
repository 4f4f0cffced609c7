"""The distinct runs of an archive on one instance, encoded for the kernel that compares one run with all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.settings import MeasureSettings
from behavesim.trajectory import Trajectory

Sims = NDArray[np.float64]

Compare = Callable[[Trajectory, int, int, MeasureSettings], Sims | None]
"""Compares a run with a snapshot of an archive's distinct runs: `compare(run, length, first, settings)`.

It returns, (runs - first,), the unclipped Sim of the run's first `length` states and each distinct run from index
`first` on; the bits equal those of `pairs.raw_similarity`. It returns None if the runs have too many states, too many
different tokens or too long states for the kernel. Raises DistanceError if a distance is above the normaliser and the
settings are strict.
"""


class Encoder(Protocol):
    """Collects the distinct runs of one instance, all truncated alike, in the form that one kernel reads.

    A run is an algorithm's trajectory on an instance.
    """

    @property
    def count(self) -> int:
        """How many runs were appended."""
        ...

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        ...

    def comparer(self) -> Compare:
        """Return the comparison with the runs so far; runs appended later do not change it."""
        ...


def checked(found: Sims, first: int, settings: MeasureSettings) -> Sims:
    """Return the Sims that a kernel found, from run `first` on.

    found: (2, runs) the Sim of each run, and the largest distance between two states. Raises DistanceError if the
    settings are strict and a distance is above the normaliser; equal runs are not checked.
    """
    sims, largest = found[0, first:], found[1, first:]
    settings.check_distance(largest[sims != 1.0].max(initial=0.0))
    return sims


class GrowingArray:
    """A one-dimensional array of one type that grows at its end; `size` is how many numbers it has."""

    def __init__(self, dtype: type[np.generic]) -> None:
        """Begin without numbers; those that are added become numbers of type `dtype`."""
        self._numbers = np.empty(0, dtype)
        self.size = 0

    def extend(self, numbers: Any) -> None:
        """Append an array of numbers, (count,), or a single number."""
        size = self.size + np.size(numbers)
        if size > self._numbers.size:
            room = np.empty(max(64, 2 * size), self._numbers.dtype)
            room[: self.size] = self._numbers[: self.size]
            self._numbers = room
        self._numbers[self.size : size] = numbers
        self.size = size

    @property
    def numbers(self) -> NDArray[Any]:
        """The numbers so far, (size,), read-only; later numbers do not change this view."""
        view = self._numbers[: self.size]
        view.setflags(write=False)
        return view


class Blocks(NamedTuple):
    """A snapshot of sequences of numbers, side by side in blocks; later additions do not change it."""

    numbers: NDArray[Any]
    """(rows, lanes); the numbers of sequence k are in lane k % lanes, from row starts[k // lanes] on."""
    starts: NDArray[np.int64]
    """(blocks + 1,) the row where each block of `lanes` sequences starts, and the one where the last ends."""
    lengths: NDArray[np.int32]
    """(sequences,) how many numbers each sequence has; the rest of its lane in the block is padding."""

    def sequence(self, position: int) -> NDArray[Any]:
        """Return the numbers, (length,), of the sequence at `position`, counted from 0."""
        block, lane = divmod(position, self.numbers.shape[1])
        start = self.starts[block]
        return np.ascontiguousarray(self.numbers[start : start + self.lengths[position], lane])


class BlockEncoder:
    """An encoder that turns each run into one sequence of numbers; rows are copied only when the array has to grow."""

    def __init__(
        self,
        lanes: int,
        dtype: type[np.generic],
        padding: float,
        encode: Callable[[Trajectory, int], NDArray[Any]],
        compare: Callable[[Blocks, Trajectory, int, int, MeasureSettings], Sims | None],
    ) -> None:
        """Begin with no run appended.

        lanes: runs in a block; `padding` fills the ends of shorter ones. dtype: the type of stored numbers. encode:
        returns the numbers, (length,), of a run's first states. compare: takes the encoded runs, then a run, how many
        of its states count, the index of the first encoded run to compare with, and the settings; returns what a
        `Compare` does.
        """
        self._padding, self._encode, self._compare = padding, encode, compare
        self._rows = np.empty((0, lanes), dtype)
        self._starts = [0]
        self._lengths = GrowingArray(np.int32)

    @property
    def count(self) -> int:
        """How many runs were appended."""
        return self._lengths.size

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        from behavesim.similarity.kernels.compiler import empty

        numbers, lanes = self._encode(run, length), self._rows.shape[1]
        if self.count % lanes == 0:
            self._starts.append(self._starts[-1])
        start = self._starts[-2]
        end = start + numbers.size
        if end > len(self._rows):
            room = empty(max(end, 2 * len(self._rows)), lanes, self._rows.dtype)
            room[: len(self._rows)] = self._rows
            room[len(self._rows) :] = self._padding
            self._rows = room
        self._rows[start:end, self.count % lanes] = numbers
        self._starts[-1] = max(end, self._starts[-1])
        self._lengths.extend(numbers.size)

    def comparer(self) -> Compare:
        """Return the comparison with the runs appended so far; later ones do not change it."""
        # `starts` is copied: a longer run in the last block would move its end
        return partial(self._compare, Blocks(self._rows, np.array(self._starts), self._lengths.numbers))
