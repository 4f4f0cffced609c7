"""Prefix trajectories of an archive, encoded for the kernel that compares one with all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.blocks import Blocks, Rows, Sims
from behavesim.similarity.pairs import LONGEST, check_prefix_distances, path_type
from behavesim.similarity.settings import Settings
from behavesim.trajectory import Trajectory

PADDING, UNKNOWN = 2**16 - 1, 2**16 - 2
"""Tokens that equal no decision of the archive: behind a member's last one, and in a candidate."""


class PrefixLanes:
    """The prefix trajectories of one slot, truncated alike, as token numbers in lanes; append-only."""

    def __init__(self) -> None:
        from behavesim.similarity.kernels import prefix

        self._blocks = Blocks(prefix.LANES, np.uint16, PADDING, multiple=prefix.STRIP)
        self._numbers: dict[int, int] = {}
        self._longest = 0

    @property
    def count(self) -> int:
        """How many members there are."""
        return self._blocks.count

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        numbers = self._numbers
        tokens = [numbers.setdefault(token, len(numbers)) for token in run.data[:length].tolist()]
        self._blocks.append(np.array(tokens, np.int64).astype(np.uint16))
        self._longest = max(self._longest, length)

    def snapshot(self) -> PrefixMembers:
        """The members so far."""
        return PrefixMembers(self._blocks.snapshot(), self._longest, self._numbers)


@dataclass(frozen=True)
class PrefixMembers:
    """The prefix trajectories of one slot at one moment."""

    rows: Rows
    longest: int
    """The most states of a member."""
    numbers: Mapping[int, int]
    """The number of each token."""

    def similarities(self, run: Trajectory, length: int, first: int, settings: Settings) -> Sims | None:
        """See `blocks.Members`."""
        from behavesim.similarity.kernels import prefix

        longest = max(length, self.longest)
        if longest > LONGEST or len(self.numbers) > UNKNOWN:
            return None
        x = np.array([self.numbers.get(token, UNKNOWN) for token in run.data[:length].tolist()], np.uint16)
        if settings.strict and settings.normaliser != "pair" and longest > settings.unit:
            _check_distances(x, self.rows, first, settings)
        room = longest + prefix.STRIP
        paths = np.empty((2 * room, prefix.LANES), path_type(longest, settings))
        reciprocals = 1.0 / np.arange(1, room + 1)
        out = np.empty(self.rows.lengths.size)
        block = first // prefix.LANES
        prefix.similarities(x, *self.rows.arrays, block, reciprocals, settings.unit, paths, out)
        return out[first:]


def _check_distances(x: NDArray[np.uint16], members: Rows, first: int, settings: Settings) -> None:
    """No two prefixes are further apart than the longer one is long, less one where they begin alike; else look."""
    beginnings = members.numbers[members.starts[:-1]].ravel()[: members.lengths.size]
    bound = np.maximum(x.size, members.lengths) - (beginnings == x[0])
    for position in np.flatnonzero(bound > settings.unit):
        if position >= first:
            check_prefix_distances(x, members.member(int(position)), settings)
