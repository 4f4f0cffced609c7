"""Prefix trajectories of an archive, encoded for the kernel that compares one with all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.blocks import BlockEncoder, Blocks, Encoder, Sims
from behavesim.similarity.pairs import check_prefix_distances
from behavesim.similarity.settings import MeasureSettings
from behavesim.trajectory import Trajectory

PADDING, UNKNOWN = 2**16 - 1, 2**16 - 2
"""Two tokens that equal no decision of the archive. PADDING stands after a run's last decision, and UNKNOWN for a
candidate's decision that no run of the archive has."""

LONGEST = 2**16 - 1
"""Most states of a run for which edit distances fit 16 bits; longer runs are compared pair by pair."""
LONGEST_16 = 361
"""Most states for which a path's sum fits 16 bits: one path is the diagonal, then straight on, 1 + 2 + … + n."""


def prefix_encoder() -> Encoder:
    """Return an encoder of prefix trajectories, to which no run was appended yet; it stores a decision in 16 bits.

    Its comparison returns None if a run has more than LONGEST states, or if the archive has more than UNKNOWN different
    decisions.
    """
    from behavesim.similarity.kernels import prefix

    numbers: dict[int, int] = {}
    return BlockEncoder(
        prefix.LANES,
        np.uint16,
        PADDING,
        encode=lambda run, length: numbered(run.data[:length], numbers),
        compare=partial(_compare, numbers),
    )


def numbered(tokens: NDArray[np.int64], numbers: dict[int, int]) -> NDArray[np.uint16]:
    """Return the 16-bit number of each token; a token that `numbers` does not have yet gets the next number there.

    Numbers above 65 535 wrap around: comparisons must check the size of `numbers`.
    """
    found = [numbers.setdefault(token, len(numbers)) for token in tokens.tolist()]
    return np.array(found, np.int64).astype(np.uint16)


def _compare(
    numbers: Mapping[int, int], blocks: Blocks, run: Trajectory, length: int, first: int, settings: MeasureSettings
) -> Sims | None:
    """Return, (runs - first,), unclipped Sim of a run's first `length` states and each run of `blocks` from `first` on.

    `numbers` has the number of each decision in `blocks`. None if a run has more than LONGEST states, or if there are
    more than UNKNOWN numbers. Raises DistanceError if the settings are strict and a distance is above the normaliser.
    """
    from behavesim.similarity.kernels import prefix

    columns, is_pairwise = int(blocks.lengths.max()), settings.normaliser == "pair"
    longest = max(length, columns)
    if longest > LONGEST or len(numbers) > UNKNOWN:
        return None
    x = np.array([numbers.get(token, UNKNOWN) for token in run.data[:length].tolist()], np.uint16)
    if settings.strict and not is_pairwise and longest > settings.unit:
        _check_distances(x, blocks, first, settings)
    whole = np.uint16 if longest <= LONGEST_16 else np.uint32
    path_row = np.empty((columns, prefix.LANES), np.float64 if is_pairwise else whole)
    reciprocals = 1.0 / np.arange(1, longest + prefix.ROWS + 1) if is_pairwise else None
    sims = np.empty(blocks.lengths.size)
    prefix.similarities(x, tuple(blocks), first // prefix.LANES, reciprocals, settings.unit, path_row, sims)
    return sims[first:]


def _check_distances(x: NDArray[np.uint16], blocks: Blocks, first: int, settings: MeasureSettings) -> None:
    """Raise DistanceError if a distance between prefixes of x and of a run from `first` on is above the normaliser.

    x: (states,) the numbers of the run's decisions, as `blocks` has them. Equal runs are not checked. No such distance
    is larger than the longer length, less 1 if the first tokens are equal. So only runs for which that is above the
    normaliser are compared.
    """
    beginnings = blocks.numbers[blocks.starts[:-1]].ravel()[: blocks.lengths.size]
    bound = np.maximum(x.size, blocks.lengths) - (beginnings == x[0])
    for position in np.flatnonzero(bound > settings.unit):
        if position >= first:
            check_prefix_distances(x, blocks.sequence(int(position)), settings)
