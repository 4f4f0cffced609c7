"""The distinct runs of an archive on one instance, encoded for the kernel that compares one run with all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.settings import MeasureSettings
from behavesim.trajectory import Trajectory

Sims = NDArray[np.float64]

CACHE_LINE = 64
"""Size of a cache line in bytes; arrays begin at a line's start, as vector registers load fastest from one line."""


@dataclass(frozen=True)
class Blocks:
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


class BlockBuilder:
    """Collects sequences of numbers in blocks; rows are copied only when the array has to grow."""

    def __init__(self, lanes: int, dtype: type[np.generic], padding: float) -> None:
        """Begin without sequences; a block has `lanes` of them, and `padding` fills the ends of shorter ones."""
        self._padding = padding
        self._rows = np.empty((0, lanes), dtype)
        self._starts = np.zeros(2, np.int64)
        self._lengths = np.empty(0, np.int32)
        self.count = 0

    def append(self, numbers: NDArray[Any]) -> None:
        """Add a sequence of numbers, (length,)."""
        block, lane = divmod(self.count, self._rows.shape[1])
        if self.count == self._lengths.size:
            self._lengths = np.resize(self._lengths, max(64, 2 * self.count))
            self._starts = np.resize(self._starts, self._lengths.size // self._rows.shape[1] + 3)
        start = self._starts[block]
        end = start + numbers.size
        if end > len(self._rows):
            room = _aligned((max(end, 2 * len(self._rows)), self._rows.shape[1]), self._rows.dtype)
            room[: len(self._rows)] = self._rows
            room[len(self._rows) :] = self._padding
            self._rows = room
        self._rows[start:end, lane] = numbers
        self._starts[block + 1] = end if lane == 0 else max(end, self._starts[block + 1])
        self._lengths[self.count] = numbers.size
        self.count += 1

    def blocks(self) -> Blocks:
        """Return a snapshot of the sequences so far."""
        blocks = -(-self.count // self._rows.shape[1])
        return Blocks(self._rows, self._starts[: blocks + 1].copy(), self._lengths[: self.count])


def _aligned(shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an uninitialised array that begins at a cache line."""
    size = shape[0] * shape[1] * dtype.itemsize
    room = np.empty(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + size].view(dtype).reshape(shape)


class GrowingArray:
    """A one-dimensional array that grows at its end."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._numbers = np.empty(0, dtype)
        self.size = 0

    def extend(self, numbers: NDArray[Any]) -> None:
        """Append numbers, (count,)."""
        size = self.size + numbers.size
        if size > self._numbers.size:
            room = np.empty(max(64, size, 2 * self.size), self._numbers.dtype)
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


class Batch(Protocol):
    """A snapshot of the distinct runs of one instance, ready to be compared with one more run."""

    def similarities(self, run: Trajectory, length: int, first: int, settings: MeasureSettings) -> Sims | None:
        """Return, (runs - first,), unclipped Sim of a trajectory's first `length` states and each run from `first` on.
        The bits equal those of `pairs.raw_similarity`. None if a run is too long or has too many different tokens for
        the kernel. Raises DistanceError if a distance is above the normaliser and the settings are strict.
        """
        ...


class Encoder(Protocol):
    """Collects the distinct runs of one instance, all truncated alike, in the form that one kernel reads."""

    @property
    def count(self) -> int:
        """How many runs were appended."""
        ...

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        ...

    def batch(self) -> Batch:
        """Return a snapshot of the runs so far."""
        ...
