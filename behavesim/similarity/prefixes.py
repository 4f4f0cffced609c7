"""Prefix trajectories of an archive, encoded for the kernel that compares one with all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.blocks import BlockBuilder, Blocks, Sims
from behavesim.similarity.pairs import check_prefix_distances
from behavesim.similarity.settings import MeasureSettings
from behavesim.trajectory import Trajectory

PADDING, UNKNOWN = 2**16 - 1, 2**16 - 2
"""Tokens that equal no decision of the archive: behind a run's last one, and in a candidate."""

LONGEST = 2**16 - 1
"""States up to which edit distances fit 16 bits."""
LONGEST_16 = 361
"""States up to which a path's sum fits 16 bits: one path is the diagonal, then straight on, 1 + 2 + … + n at most."""


class PrefixEncoder:
    """Prefix trajectories as 16-bit token numbers, (states,) each, in blocks; see `blocks.Encoder`."""

    def __init__(self) -> None:
        from behavesim.similarity.kernels import prefix

        self._builder = BlockBuilder(prefix.LANES, np.uint16, PADDING)
        self._numbers: dict[int, int] = {}
        self._longest = 0

    @property
    def count(self) -> int:
        """How many there are."""
        return self._builder.count

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        numbers = self._numbers
        tokens = [numbers.setdefault(token, len(numbers)) for token in run.data[:length].tolist()]
        self._builder.append(np.array(tokens, np.int64).astype(np.uint16))
        self._longest = max(self._longest, length)

    def batch(self) -> PrefixBatch:
        """The runs so far."""
        return PrefixBatch(self._builder.blocks(), self._longest, self._numbers)


@dataclass(frozen=True)
class PrefixBatch:
    """Prefix trajectories in blocks of token numbers; see `blocks.Batch`."""

    blocks: Blocks
    longest: int
    """The most states of a run."""
    numbers: Mapping[int, int]
    """The number of each token."""

    def similarities(self, run: Trajectory, length: int, first: int, settings: MeasureSettings) -> Sims | None:
        """(runs - first,) float64; see `blocks.Batch`."""
        from behavesim.similarity.kernels import prefix

        longest = max(length, self.longest)
        if longest > LONGEST or len(self.numbers) > UNKNOWN:
            return None
        x = np.array([self.numbers.get(token, UNKNOWN) for token in run.data[:length].tolist()], np.uint16)
        if settings.strict and settings.normaliser != "pair" and longest > settings.unit:
            _check_distances(x, self.blocks, first, settings)
        is_pairwise = settings.normaliser == "pair"
        whole = np.uint16 if longest <= LONGEST_16 else np.uint32
        path_row = np.empty((self.longest, prefix.LANES), np.float64 if is_pairwise else whole)
        reciprocals = 1.0 / np.arange(1, longest + prefix.ROWS + 1) if is_pairwise else None
        tokens, starts, lengths = self.blocks.numbers, self.blocks.starts, self.blocks.lengths
        out, block = np.empty(lengths.size), first // prefix.LANES
        prefix.similarities(x, tokens, starts, lengths, block, reciprocals, settings.unit, path_row, out)
        return out[first:]


def _check_distances(x: NDArray[np.uint16], blocks: Blocks, first: int, settings: MeasureSettings) -> None:
    """No two prefixes are further apart than the longer one is long, less one where they begin alike; else look."""
    beginnings = blocks.numbers[blocks.starts[:-1]].ravel()[: blocks.lengths.size]
    bound = np.maximum(x.size, blocks.lengths) - (beginnings == x[0])
    for position in np.flatnonzero(bound > settings.unit):
        if position >= first:
            check_prefix_distances(x, blocks.sequence(int(position)), settings)
