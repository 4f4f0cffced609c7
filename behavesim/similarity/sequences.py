"""Sequence trajectories of an archive, encoded for the kernel that compares one with all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.blocks import Compare, GrowingArray, Sims, checked
from behavesim.similarity.pairs import states_of
from behavesim.similarity.prefixes import numbered
from behavesim.similarity.settings import MeasureSettings
from behavesim.trajectory import Trajectory

MOST_TOKENS = 2**16
"""From this many different tokens on, runs are compared pair by pair: tokens' numbers are 16 bits wide."""
MOST_PATTERNS = 2**17
"""Most words of bit patterns for each of the kernel's 64 lanes: 64 MB in all. If more are needed, runs are compared
pair by pair."""


class Sequences(NamedTuple):
    """A snapshot of sequence trajectories as token numbers; later additions do not change it."""

    tokens: NDArray[np.uint16]
    """(tokens,) the numbers of all runs' states, end to end."""
    ends: NDArray[np.int64]
    """(states,) where each state ends in `tokens`."""
    runs: NDArray[np.int64]
    """(runs + 1,) run k has the states runs[k] to runs[k + 1] - 1."""


class SequenceEncoder:
    """Collects sequence trajectories as 16-bit token numbers, all states end to end; see `blocks.Encoder`."""

    def __init__(self) -> None:
        """Begin with no run appended."""
        self._tokens, self._ends, self._runs = GrowingArray(np.uint16), GrowingArray(np.int64), GrowingArray(np.int64)
        self._runs.extend(0)
        self._numbers: dict[int, int] = {}
        self._longest = 0

    @property
    def count(self) -> int:
        """How many runs were appended."""
        return self._runs.size - 1

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory; `length` is from 1 to the number of its states."""
        tokens, ends = states_of(run, length)
        self._longest = max(self._longest, int(np.diff(ends, prepend=0).max()))
        self._ends.extend(ends + self._tokens.size)
        self._tokens.extend(numbered(tokens, self._numbers))
        self._runs.extend(self._ends.size)

    def comparer(self) -> Compare:
        """Return the comparison with the runs appended so far; later ones do not change it.

        It returns None if the archive, or the run to compare, has MOST_TOKENS different tokens or more, or if more than
        MOST_PATTERNS words of bit patterns are needed.
        """
        sequences = Sequences(self._tokens.numbers, self._ends.numbers, self._runs.numbers)
        return partial(_compare, sequences, self._longest, self._numbers)


def _compare(
    members: Sequences,
    longest: int,
    numbers: Mapping[int, int],
    run: Trajectory,
    length: int,
    first: int,
    settings: MeasureSettings,
) -> Sims | None:
    """Return, (runs - first,), unclipped Sim of a run's first `length` states and each of `members` from `first` on.

    longest: tokens of the members' longest state. numbers: the number of each token of the members. None if there are
    too many tokens or bit patterns (MOST_TOKENS, MOST_PATTERNS). Raises DistanceError if the settings are strict and a
    distance is above the normaliser.
    """
    from behavesim.similarity.kernels import sequence

    tokens, ends = states_of(run, length)
    distinct, inverse = np.unique(tokens, return_inverse=True)
    word, words = (np.uint32, 1) if longest <= 32 else (np.uint64, -(-longest // 64))
    if max(len(numbers), distinct.size) >= MOST_TOKENS or words * distinct.size > MOST_PATTERNS:
        return None
    ours = np.full(MOST_TOKENS, distinct.size, np.uint16)  # the candidate's number of each of the members' tokens
    for number, token in enumerate(distinct.tolist()):
        if token in numbers:
            ours[numbers[token]] = number
    forwards = inverse.astype(np.uint16)
    backwards = np.concatenate([state[::-1] for state in np.split(forwards, ends[:-1])])
    # states that end alike are read backwards: more columns of the state before are used again
    known, x = max(((sequence.shared(x, ends), x) for x in (forwards, backwards)), key=lambda each: each[0].sum())
    patterns = np.empty((words, distinct.size + 1, sequence.LANES), word)
    carry = np.empty((2, sequence.LANES), word) if words > 1 else None
    found = np.empty((2, members.runs.size - 1))
    archive = (*members, ours, x is backwards)
    is_pairwise, block = settings.normaliser == "pair", first // sequence.LANES
    sequence.similarities((x, ends, known), archive, block, settings.unit, is_pairwise, patterns, carry, found)
    return checked(found, first, settings)
