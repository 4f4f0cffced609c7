"""BehaveSim: the expected similarity of the trajectories of two algorithms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behavesim.similarity.archive import Algorithm, Archive, Column, Shape, check_shapes, runs_of
from behavesim.similarity.pairs import (
    MeasureSettings,
    check_coordinates,
    check_count,
    check_finite,
    check_pair,
    raw_similarity,
)
from behavesim.trajectory import AlgorithmRun, Trajectory

Similarities = NDArray[np.float64]

# Rows of a matrix that are mirrored at a time. One by one, every number would be written to another cache line, which
# is slow.
STRIPE = 64


@dataclass(frozen=True)
class BehaveSim(MeasureSettings):
    """The measure of the paper (section "BehaveSim"), with its settings; immutable.

    BehaveSim(A, B) is the mean of Sim(X, Y) = 1 - DTW(X, Y) / min(|X|, |Y|) over instances, and over starting points
    within an instance. DTW sums the distances of states along the best alignment.

    normaliser: the greatest distance two solutions of the problem can have, d_max for edits or D for Euclidean
        distances. With "pair" each edit distance is divided by the length of the longer of the two states, which
        changes values a lot.
    measure: "dtw", or one of three others (paper, appendix "Choice of Trajectory Distance Measures"). "erp" is
        1 - ERP / min(|X|, |Y|) with the reference solution `gap`. "mean" is 1 - the mean distance at equal steps over
        the common length. "cosine" is the mean cosine between successive segments of vectors over the common length,
        in [-1, 1]. Resample trajectories of very unequal length before these three, or their values mean little.
    truncate: the fraction, from 0 to 1, of each trajectory's states that is dropped at its end; one always stays.
    skip: keep only one in skip + 1 states, and the last. Above 0 pairs are compared one by one: against an archive that
        is some 40 to 500 times slower, 0.35 ms for a pair of 50 prefixes. It does not make a comparison cheaper.
    clip: bound each Sim to [0, 1]. If false, unequal lengths make it negative without bound, which
        still tells which of two is nearer.
    distance: a distance of one's own between two states (arrays of tokens or coordinates), before division by the
        normaliser; slow, because it is called for every pair of states.
    gap: the reference solution of "erp": tokens, by default none; for vectors coordinates, by default the origin.
    strict: refuse distances above the normaliser. If false, states that far apart count for more than 1.

    Every similarity is a finite float64, and exactly 1.0 for identical trajectories. What cannot be compared raises
    TrajectoryError: other kinds, instances or dimensions. A `distance` that returns no finite number of 0 or more
    raises DistanceError. So does a distance above the normaliser, if `strict`.
    """

    def similarity(self, x: AlgorithmRun, y: AlgorithmRun) -> float:
        """Return Sim(x, y) of two trajectories or samples on one instance."""
        raw = raw_similarity(x, y, self)
        return min(1.0, max(0.0, raw)) if self.clip else raw

    def between(self, left: Algorithm, right: Algorithm) -> float:
        """Return BehaveSim of two algorithms, each a run per instance, or several, one per starting point."""
        (left_runs, left_shape), (right_runs, right_shape) = runs_of(left), runs_of(right)
        check_shapes(left_shape, right_shape)
        sims = (np.array([self.similarity(x, y)]) for x, y in zip(left_runs, right_runs, strict=True))
        return float(_expectation(sims, left_shape)[0])

    def one_vs_many(self, algorithm: Algorithm, algorithms: Archive | Sequence[Algorithm]) -> Similarities:
        """Return, (N,), BehaveSim of one algorithm and each of N; an Archive is encoded once, a list at every call.

        It is empty for an empty archive. The kernels release the GIL. The similarity of two algorithms has the same
        bits whatever N is.
        """
        archive = _archive(algorithms)
        runs, shape = runs_of(algorithm)
        count = len(archive)
        if count == 0:
            return np.empty(0)
        check_shapes(archive.shape, shape)
        sims = (
            self._against(run, column)[column.indices[:count]]
            for run, column in zip(runs, archive.columns, strict=True)
        )
        return _expectation(sims, shape)

    def check_algorithm(self, algorithm: Algorithm, archive: Archive) -> None:
        """Raise TrajectoryError if an algorithm cannot be compared with those of an archive, which has at least one."""
        # Coordinates beyond ±LARGEST are refused too: two such algorithms could have no finite similarity, and that
        # would be found only once both are in the archive.
        runs, shape = runs_of(algorithm)
        check_shapes(archive.shape, shape)
        for run, column in zip(runs, archive.columns, strict=True):
            check_pair(run, column.distinct[0], self)
            if not self._is_within_unit(run, column):
                self._against(run, column)
            check_coordinates(run)

    def matrix(self, algorithms: Archive | Sequence[Algorithm]) -> Similarities:
        """Return, (N, N), BehaveSim of every pair of algorithms; symmetric, with ones on the diagonal."""
        archive = _archive(algorithms)
        count = len(archive)
        if count == 0:
            return np.empty((0, 0))
        return _expectation((self._within(column, count) for column in archive.columns), archive.shape)

    def rows(self, algorithms: Archive | Sequence[Algorithm], size: int = 256) -> Iterator[Similarities]:
        """Yield the matrix from top to bottom in blocks of (size, N); the last block may be shorter.

        Only one block is in memory; each pair is compared twice, once for each of its two rows.
        """
        check_count("size", size, 1)  # at once: a generator's own checks would wait for its first row
        archive = _archive(algorithms)
        count = len(archive)
        blocks = (range(start, min(start + size, count)) for start in range(0, count, size))
        return (
            _expectation((self._of(chosen, column, count) for column in archive.columns), archive.shape)
            for chosen in blocks
        )

    def nearest(self, algorithms: Archive | Sequence[Algorithm], count: int) -> tuple[NDArray[np.intp], Similarities]:
        """Return the `count` most similar others of each algorithm, and their similarities: two (N, count) arrays.

        The most similar comes first; ties go to the earlier algorithm. There are N - 1 columns if `count` is larger.
        The full matrix is never in memory.
        """
        check_count("count", count, 0)
        found: list[NDArray[np.intp]] = []
        sims: list[Similarities] = []
        for block in self.rows(algorithms):
            np.fill_diagonal(block[:, sum(map(len, found)) :], -np.inf)  # an algorithm is not its own neighbour
            order = np.argsort(-block, axis=1, kind="stable")[:, : min(count, block.shape[1] - 1)]
            found.append(order)
            sims.append(np.take_along_axis(block, order, axis=1))
        if not found:
            return np.empty((0, 0), np.intp), np.empty((0, 0))
        return np.concatenate(found), np.concatenate(sims)

    def per_instance(self, algorithms: Archive | Sequence[Algorithm]) -> Similarities:
        """Return, (instances, N, N), the similarities of N ≥ 1 algorithms on each instance; `matrix` is their mean."""
        archive = _archive(algorithms)
        sims = (self._within(column, len(archive)) for column in archive.columns)
        return np.array([_expectation(sims, (starts,)) for starts in archive.shape])

    def _is_within_unit(self, run: AlgorithmRun, column: Column) -> bool:
        """Whether `run` and those of the column are prefixes too short for a distance above the normaliser."""
        # the edit distance of two prefixes is at most the length of the longer one
        compared = (run, *column.distinct)
        if not self.is_plain or not all(isinstance(each, Trajectory) and each.kind == "prefixes" for each in compared):
            return False
        return self.normaliser == "pair" or max(map(len, compared)) <= self.unit

    def _against(self, run: AlgorithmRun, column: Column, first: int = 0) -> Similarities:
        """Return, (distinct runs - first,), Sim of one run and each distinct run of a column from index `first` on."""
        if isinstance(run, Trajectory) and (compare := column.comparer(self)):
            check_pair(run, column.distinct[0], self)
            if (sims := compare(run, self.length(len(run)), first, self)) is not None:
                check_finite(sims)
                return np.clip(sims, 0.0, 1.0) if self.clip else sims
        return np.array([self.similarity(run, other) for other in column.distinct[first:]])

    def _of(self, chosen: range, column: Column, count: int) -> Similarities:
        """Return, (chosen, count), Sim of the runs of some algorithms and those of the first `count`, in one column."""
        indices = column.indices[:count]
        sims = np.empty((len(chosen), count))
        for row, number in enumerate(chosen):
            sims[row] = self._against(column.distinct[indices[number]], column)[indices]
        return sims

    def _within(self, column: Column, count: int) -> Similarities:
        """Return, (count, count), Sim of the runs of the first `count` algorithms in one column."""
        indices = column.indices[:count]
        size = int(indices.max()) + 1
        sims = np.empty((size, size))
        for start in range(0, size, STRIPE):
            stop = min(start + STRIPE, size)
            for row in range(start, stop):
                sims[row, row:] = self._against(column.distinct[row], column, row)[: size - row]
            corner = np.triu(sims[start:stop, start:stop])
            sims[start:stop, start:stop] = corner + np.triu(corner, 1).T
            sims[stop:, start:stop] = sims[start:stop, stop:].T
        return sims if size == count else sims[np.ix_(indices, indices)]


def _archive(algorithms: Archive | Sequence[Algorithm]) -> Archive:
    return algorithms if isinstance(algorithms, Archive) else Archive(algorithms)


def _expectation(sims: Iterator[Similarities], shape: Shape) -> Similarities:
    """Return the mean over instances of the mean over their starting points (paper, definition of BehaveSim(A1, A2)).

    sims: an array for each starting point of each instance; overwritten, so that only two are in memory.
    """
    total = np.zeros(())
    for starts in shape:
        instance = next(sims)
        for _ in range(starts - 1):
            instance += next(sims)
        instance /= starts
        instance += total
        total = instance
    total /= len(shape)
    return total
