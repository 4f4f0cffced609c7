"""Numbers of archive members side by side, as the kernels read them; grows in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.settings import Settings
from behavesim.trajectory import Trajectory

Sims = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """What blocks hold at one moment; a later append writes elsewhere, so that it can be read without a lock."""

    numbers: NDArray[Any]
    """(rows, lanes); the numbers of member k are in lane k % lanes, from row starts[k // lanes] on."""
    starts: NDArray[np.int64]
    """(blocks + 1,) where each block of `lanes` members starts, and the last one ends."""
    lengths: NDArray[np.int32]
    """(members,) how many numbers each has; the rest of its lane is padding."""

    @property
    def arrays(self) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int32]]:
        """Numbers, starts and lengths, as a kernel takes them."""
        return self.numbers, self.starts, self.lengths

    def member(self, position: int) -> NDArray[Any]:
        """The numbers of one member."""
        block, lane = divmod(position, self.numbers.shape[1])
        start = self.starts[block]
        return np.ascontiguousarray(self.numbers[start : start + self.lengths[position], lane])


class Blocks:
    """Members' numbers in lanes; only the last block still grows, so that rows are moved to a new room at most."""

    def __init__(self, lanes: int, dtype: type[np.generic], padding: float, multiple: int = 1) -> None:
        self._padding, self._multiple = padding, multiple
        self._rows = np.full((0, lanes), padding, dtype)
        self._starts = np.zeros(2, np.int64)
        self._lengths = np.empty(0, np.int32)
        self.count = 0

    def append(self, numbers: NDArray[Any]) -> None:
        """Add a member."""
        block, lane = divmod(self.count, self._rows.shape[1])
        if self.count == self._lengths.size:
            self._lengths = np.resize(self._lengths, max(64, 2 * self.count))
            self._starts = np.resize(self._starts, self._lengths.size // self._rows.shape[1] + 3)
        start = self._starts[block]
        end = start + -(-numbers.size // self._multiple) * self._multiple
        if end > len(self._rows):
            room = np.full((max(end, 2 * len(self._rows)), self._rows.shape[1]), self._padding, self._rows.dtype)
            room[: len(self._rows)] = self._rows
            self._rows = room
        self._rows[start : start + numbers.size, lane] = numbers
        self._starts[block + 1] = end if lane == 0 else max(end, self._starts[block + 1])
        self._lengths[self.count] = numbers.size
        self.count += 1

    def snapshot(self) -> Rows:
        """The members so far."""
        blocks = -(-self.count // self._rows.shape[1])
        return Rows(self._rows, self._starts[: blocks + 1].copy(), self._lengths[: self.count])


class Column:
    """Numbers one after another; grows in place."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._numbers = np.empty(0, dtype)
        self.size = 0

    def extend(self, numbers: NDArray[Any]) -> None:
        """Add numbers at the end."""
        size = self.size + numbers.size
        if size > self._numbers.size:
            room = np.empty(max(64, size, 2 * self.size), self._numbers.dtype)
            room[: self.size] = self._numbers[: self.size]
            self._numbers = room
        self._numbers[self.size : size] = numbers
        self.size = size

    @property
    def numbers(self) -> NDArray[Any]:
        """What is there now, read-only; a later append writes elsewhere."""
        view = self._numbers[: self.size]
        view.setflags(write=False)
        return view


class Members(Protocol):
    """The distinct runs of one slot at one moment, ready to be compared with one."""

    def similarities(self, run: Trajectory, length: int, first: int, settings: Settings) -> Sims | None:
        """(members - first,) unclipped Sim of a trajectory's first `length` states and each member from `first` on.

        The bits are those of `pairs.raw_similarity`. None where the lengths or the tokens are too many for the kernel.
        Raises TrajectoryError where a distance is above the normaliser.
        """
        ...


class Lanes(Protocol):
    """The distinct runs of one slot, truncated alike, side by side as one kernel reads them; append-only."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        ...

    def snapshot(self) -> Members:
        """The members so far."""
        ...
