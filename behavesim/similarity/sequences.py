"""Sequence trajectories of an archive, encoded for the kernel that compares one with all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.blocks import GrowingArray, Sims
from behavesim.similarity.settings import MeasureSettings
from behavesim.similarity.vectors import check_largest
from behavesim.trajectory import Trajectory

MOST_TOKENS = 2**16
"""Token numbers are 16 bits wide."""
MOST_PATTERNS = 2**17
"""Words of bit patterns for each of the kernel's 64 lanes: 64 MB in all. More are compared pair by pair."""


class SequenceEncoder:
    """Sequence trajectories as 16-bit token numbers, all states end to end; see `blocks.Encoder`."""

    def __init__(self) -> None:
        self._tokens, self._ends, self._runs = GrowingArray(np.uint16), GrowingArray(np.int64), GrowingArray(np.int64)
        self._runs.extend(np.zeros(1, np.int64))
        self._numbers: dict[int, int] = {}
        self._longest = 0

    @property
    def count(self) -> int:
        """How many there are."""
        return self._runs.size - 1

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        tokens, ends = states(run, length)
        numbers = self._numbers
        encoded = [numbers.setdefault(token, len(numbers)) for token in tokens.tolist()]
        self._longest = max(self._longest, longest_state(ends))
        self._ends.extend(ends + self._tokens.size)
        self._tokens.extend(np.array(encoded, np.int64).astype(np.uint16))
        self._runs.extend(np.array([self._ends.size]))

    def batch(self) -> SequenceBatch:
        """The runs so far."""
        arrays = (self._tokens.numbers, self._ends.numbers, self._runs.numbers)
        return SequenceBatch(*arrays, self._longest, self._numbers)


@dataclass(frozen=True)
class SequenceBatch:
    """Sequence trajectories as token numbers; see `blocks.Batch`."""

    tokens: NDArray[np.uint16]
    """(tokens,) the numbers of all runs' states, end to end."""
    ends: NDArray[np.int64]
    """(states,) where each state ends in `tokens`."""
    runs: NDArray[np.int64]
    """(runs + 1,) run k has the states runs[k] to runs[k + 1]."""
    longest: int
    """The most tokens of a state."""
    numbers: Mapping[int, int]
    """The number of each token."""

    def similarities(self, run: Trajectory, length: int, first: int, settings: MeasureSettings) -> Sims | None:
        """(runs - first,) float64; see `blocks.Batch`."""
        from behavesim.similarity.kernels import sequence

        tokens, ends = states(run, length)
        distinct, inverse = np.unique(tokens, return_inverse=True)
        word, words = (np.uint32, 1) if self.longest <= 32 else (np.uint64, -(-self.longest // 64))
        if max(len(self.numbers), distinct.size) >= MOST_TOKENS or words * distinct.size > MOST_PATTERNS:
            return None
        numbers = np.full(MOST_TOKENS, distinct.size, np.uint16)
        for number, token in enumerate(distinct.tolist()):
            if token in self.numbers:
                numbers[self.numbers[token]] = number
        patterns = np.empty((words, distinct.size + 1, sequence.LANES), word)
        carry = np.empty((2, sequence.LANES), word) if words > 1 else None
        sims, largest = np.empty((2, self.runs.size - 1))
        forwards = inverse.astype(np.uint16)
        backwards = np.concatenate([state[::-1] for state in np.split(forwards, ends[:-1])])
        known, x = max(((sequence.shared(x, ends), x) for x in (forwards, backwards)), key=lambda each: each[0].sum())
        arrays = (x, ends, known, self.tokens, self.ends, x is backwards, self.runs, numbers)
        is_pairwise = settings.normaliser == "pair"
        block = first // sequence.LANES
        sequence.similarities(*arrays, block, settings.unit, is_pairwise, patterns, carry, sims, largest)
        check_largest(sims[first:], largest[first:], settings)
        return sims[first:]


def states(run: Trajectory, count: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The first `count` states' tokens, end to end, and where each ends."""
    assert run.ends is not None, "sequences know where their states end"
    ends = run.ends[:count]
    return run.data[: ends[-1]], ends


def longest_state(ends: NDArray[np.int64]) -> int:
    """The number of tokens of the longest state."""
    return int(np.diff(ends, prepend=0).max())
