"""An archive: algorithms to compare with, which grows in place, each run encoded once for the kernel of its kind."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import TrajectoryError
from behavesim.similarity.pairs import MeasureSettings, check_alike, check_prefix_distances, check_run
from behavesim.trajectory import AlgorithmRun, Kind, Samples, Trajectory, describe_value

# One run for each instance; or for each instance a sequence of runs, one for each starting point.
Algorithm = Sequence[AlgorithmRun | Sequence[AlgorithmRun]]

# The number of starting points of each instance, in the order of the instances.
Shape = tuple[int, ...]

# The module of `kernels` that compares each kind: sequences and sets pair by pair, the others one run with many.
KERNELS = {"prefixes": "prefix", "vectors": "euclidean", "sequences": "scalar", "sets": "scalar"}


class Archive:
    """Algorithms, each given by its runs, one for each instance; algorithms can be appended, and never change.

    One thread may append while others compare: a comparison sees the algorithms that were there when it began. All must
    have the same numbers of instances and starting points, and on each instance one kind of trajectory.
    """

    def __init__(self, algorithms: Iterable[Algorithm] = ()) -> None:
        self.shape: Shape = ()
        self.columns: tuple[Column, ...] = ()
        self._algorithms: list[tuple[AlgorithmRun, ...]] = []
        if not isinstance(algorithms, Iterable):
            raise TrajectoryError(
                f"an archive is made of algorithms, a sequence of them; got {describe_value(algorithms)}"
            )
        for algorithm in algorithms:
            self.append(algorithm)

    def __len__(self) -> int:
        return len(self._algorithms)

    def append(self, algorithm: Algorithm) -> None:
        """Add an algorithm at the end; raises TrajectoryError, and adds nothing, if it is not like the first one."""
        runs, shape = runs_of(algorithm)
        if not self.columns:
            self.shape, self.columns = shape, tuple(Column() for _ in runs)
        check_shapes(self.shape, shape)
        for column, run in zip(self.columns, runs, strict=True):
            if column.distinct:
                check_alike(column.distinct[0], run)
        for column, run in zip(self.columns, runs, strict=True):
            column.append(run)
        # last: a comparison in another thread takes as many algorithms as are here, and finds a run of each
        self._algorithms.append(runs)

    def take(self, rows: Iterable[int]) -> Archive:
        """Return a new archive of the algorithms in the given rows, from 0, in that order; rows may repeat."""
        taken = Archive()
        if self.columns:
            taken.shape, taken.columns = self.shape, tuple(Column() for _ in self.columns)
        for row in rows:
            if not 0 <= row < len(self):
                raise TrajectoryError(f"an archive of {len(self)} algorithms has no row {row!r}; rows count from 0")
            taken._algorithms.append(self._algorithms[row])
            for column, run in zip(taken.columns, self._algorithms[row], strict=True):
                column.append(run)
        return taken

    def warm(self) -> None:
        """Load the kernels for the kinds of its runs: about 1 s, or up to 60 s where they are compiled first."""
        for kind in {column.distinct[0].kind for column in self.columns if column.distinct}:
            import_module(f"behavesim.similarity.kernels.{KERNELS[kind]}")


class Column:
    """The runs of all algorithms of an archive on one instance from one starting point; equal runs are stored once."""

    def __init__(self) -> None:
        self.distinct: list[AlgorithmRun] = []  # in order of first arrival
        self._positions: dict[AlgorithmRun, int] = {}
        self._indices = GrowingArray(np.intp)
        self._has_encoder = True
        self._encoders: dict[float, BlockEncoder] = {}  # by `truncate`, which decides how many states are encoded
        self._encoding = threading.Lock()

    def append(self, run: AlgorithmRun) -> None:
        """Add the next algorithm's run; a run equal to an earlier one is not stored again."""
        position = self._positions.setdefault(run, len(self.distinct))
        if position == len(self.distinct):
            self._has_encoder = self._has_encoder and isinstance(run, Trajectory) and run.kind in ENCODERS
            self.distinct.append(run)
        self._indices.extend(position)

    @property
    def indices(self) -> NDArray[np.intp]:
        """The index in `distinct` of each algorithm's run, (algorithms,)."""
        return self._indices.numbers

    def comparer(self, settings: MeasureSettings) -> Compare | None:
        """Return the comparison of a run with the distinct runs by the kernel of their kind; None if there is none."""
        # there is none for sequences, sets, samples, and settings other than plain ones
        if not (self._has_encoder and settings.is_plain):
            return None
        with self._encoding:  # several threads may compare: two at once would encode a run twice
            if settings.truncate not in self._encoders:
                self._encoders[settings.truncate] = ENCODERS[self.distinct[0].kind]()
            encoder = self._encoders[settings.truncate]
            for run in self.distinct[encoder.count :]:
                assert isinstance(run, Trajectory), "samples have no encoder"
                encoder.append(run, settings.length(len(run)))
            return encoder.comparer()


def runs_of(algorithm: Algorithm) -> tuple[tuple[AlgorithmRun, ...], Shape]:
    """Return the runs of an algorithm, instance by instance, and the number of runs of each instance.

    Raises TrajectoryError if there is no instance, if one has no run, or if something is not a run.
    """
    if isinstance(algorithm, Trajectory | Samples):
        raise TrajectoryError("an algorithm is a sequence of trajectories, one for each instance; got a single one")
    instances = [
        (entry,) if isinstance(entry, Trajectory | Samples) else _entries(entry, "Trajectory or Samples")
        for entry in _entries(algorithm, "trajectories, one for each instance")
    ]
    if not instances or not all(instances):
        raise TrajectoryError(
            "an algorithm needs a trajectory for every instance; got an instance without one, or none"
        )
    runs = tuple(run for instance in instances for run in instance)
    for run in runs:
        check_run(run)
    return runs, tuple(len(instance) for instance in instances)


def _entries(value: Any, expected: str) -> tuple[Any, ...]:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise TrajectoryError(f"an algorithm is made of {expected}; got {describe_value(value)}")
    return tuple(value)


def check_shapes(left: Shape, right: Shape) -> None:
    """Raise TrajectoryError if two algorithms have other numbers of instances or of starting points."""
    if len(left) != len(right):
        raise TrajectoryError(
            f"algorithms are compared on the same instances; got {len(left)} and {len(right)} instances"
        )
    if left != right:
        raise TrajectoryError(
            "algorithms are compared from the same starting points; "
            f"got {list(left)} and {list(right)} of them on the instances"
        )


# ---- How runs are encoded for the kernels that compare one with many ----


Sims = NDArray[np.float64]

# Compares a run with a snapshot of an archive's distinct runs: `compare(run, length, first, settings)` returns, (runs -
# first,), the unclipped Sim of the run's first `length` states and each distinct run from index `first` on, with the
# bits of `pairs.raw_similarity`. It returns None if the runs have too many states or different tokens for the kernel,
# and raises DistanceError if the settings are strict and a distance is above the normaliser.
Compare = Callable[[Trajectory, int, int, MeasureSettings], Sims | None]


class GrowingArray:
    """A one-dimensional array that grows at its end; `size` is how many numbers it has."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._numbers = np.empty(0, dtype)
        self.size = 0

    def extend(self, numbers: Any) -> None:
        """Append an array of numbers, (count,), or a single number."""
        size = self.size + np.size(numbers)
        if size > self._numbers.size:
            # twice as large, so that n numbers are copied O(n) times in all; views of the old array stay as they are
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

    # (rows, lanes); the numbers of sequence k are in lane k % lanes, from row starts[k // lanes] on
    numbers: NDArray[Any]
    # (blocks + 1,) the row where each block of `lanes` sequences starts, and the one where the last ends
    starts: NDArray[np.int64]
    # (sequences,) how many numbers each sequence has; the rest of its lane in the block is padding
    lengths: NDArray[np.int32]

    def sequence(self, position: int) -> NDArray[Any]:
        """Return the numbers, (length,), of the sequence at `position`, counted from 0."""
        block, lane = divmod(position, self.numbers.shape[1])
        start = self.starts[block]
        return np.ascontiguousarray(self.numbers[start : start + self.lengths[position], lane])


class BlockEncoder(ABC):
    """Collects runs of one instance, truncated alike, each as one sequence of numbers; rows are copied only to grow."""

    def __init__(self, lanes: int, dtype: type[np.generic], padding: float) -> None:
        """Begin without runs; a block holds `lanes` of them, and `padding` fills the ends of shorter ones."""
        self._padding = padding
        self._rows = np.empty((0, lanes), dtype)
        self._starts = [0]
        self._lengths = GrowingArray(np.int32)

    @abstractmethod
    def encode(self, run: Trajectory, length: int) -> NDArray[Any]:
        """Return the numbers, (length,), of a run's first states."""

    @abstractmethod
    def compare(
        self, blocks: Blocks, run: Trajectory, length: int, first: int, settings: MeasureSettings
    ) -> Sims | None:
        """Do what `Compare` does, with the encoded runs in `blocks`."""

    @property
    def count(self) -> int:
        """The number of runs that were appended."""
        return self._lengths.size

    def append(self, run: Trajectory, length: int) -> None:
        """Add the first `length` states of a trajectory."""
        from behavesim.similarity.kernels import empty

        numbers, lanes = self.encode(run, length), self._rows.shape[1]
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
        return partial(self.compare, Blocks(self._rows, np.array(self._starts), self._lengths.numbers))


# Two tokens that equal no decision of the archive: PADDING stands after a run's last decision, UNKNOWN for a
# candidate's decision that no run of the archive has.
PADDING, UNKNOWN = 2**16 - 1, 2**16 - 2
# Most states of a run for which edit distances fit 16 bits; longer runs are compared pair by pair.
LONGEST = 2**16 - 1
# Most states for which a path's sum fits 16 bits: one path is the diagonal, then straight on, 1 + 2 + … + n.
LONGEST_16 = 361


class PrefixEncoder(BlockEncoder):
    """Stores the decisions of prefix trajectories in 16 bits."""

    def __init__(self) -> None:
        from behavesim.similarity.kernels import prefix

        super().__init__(prefix.LANES, np.uint16, PADDING)
        self._numbers: dict[int, int] = {}  # by token, in order of first arrival

    def encode(self, run: Trajectory, length: int) -> NDArray[Any]:
        """Return the number of each decision; beyond 2**16 they wrap, and `compare` gives up."""
        found = [self._numbers.setdefault(token, len(self._numbers)) for token in run.data[:length].tolist()]
        return np.array(found, np.int64).astype(np.uint16)

    def compare(
        self, blocks: Blocks, run: Trajectory, length: int, first: int, settings: MeasureSettings
    ) -> Sims | None:
        """Compare a run with prefix trajectories; None if one is too long or there are too many tokens."""
        from behavesim.similarity.kernels import prefix

        columns, is_pairwise = int(blocks.lengths.max()), settings.normaliser == "pair"
        longest = max(length, columns)
        if longest > LONGEST or len(self._numbers) > UNKNOWN:
            return None
        x = np.array([self._numbers.get(token, UNKNOWN) for token in run.data[:length].tolist()], np.uint16)
        if settings.strict and not is_pairwise and longest > settings.unit:
            _check_distances(x, blocks, first, settings)
        whole = np.uint16 if longest <= LONGEST_16 else np.uint32
        path_row = np.empty((columns, prefix.LANES), np.float64 if is_pairwise else whole)
        reciprocals = 1.0 / np.arange(1, longest + prefix.ROWS + 1) if is_pairwise else None
        sims = np.empty(blocks.lengths.size)
        prefix.similarities(x, tuple(blocks), first // prefix.LANES, reciprocals, settings.unit, path_row, sims)
        return sims[first:]


def _check_distances(x: NDArray[np.uint16], blocks: Blocks, first: int, settings: MeasureSettings) -> None:
    """Raise DistanceError if a distance between prefixes of x and of a run from `first` on is above the normaliser."""
    # No distance is larger than the longer length, less 1 if the first tokens are equal: only runs for which that is
    # above the normaliser are compared.
    beginnings = blocks.numbers[blocks.starts[:-1]].ravel()[: blocks.lengths.size]
    bound = np.maximum(x.size, blocks.lengths) - (beginnings == x[0])
    for position in np.flatnonzero(bound > settings.unit):
        if position >= first:
            check_prefix_distances(x, blocks.sequence(int(position)), settings)


class VectorEncoder(BlockEncoder):
    """Stores the coordinates of vector trajectories as float64, with a multiple of COORDINATES to each state."""

    def __init__(self) -> None:
        from behavesim.similarity.kernels import euclidean

        super().__init__(euclidean.LANES, np.float64, np.nan)

    def encode(self, run: Trajectory, length: int) -> NDArray[Any]:
        """Return the coordinates of the states, one state after another."""
        return _pad_states(run, length).ravel()

    def compare(self, blocks: Blocks, run: Trajectory, length: int, first: int, settings: MeasureSettings) -> Sims:
        """Compare a run with vector trajectories."""
        from behavesim.similarity.kernels import euclidean

        x = np.pad(_pad_states(run, length), ((0, -length % euclidean.STATES), (0, 0)), constant_values=np.nan)
        found = np.empty((2, blocks.lengths.size))
        flat = blocks.numbers.ravel(), blocks.starts, blocks.lengths
        euclidean.similarities(x, length, flat, first // euclidean.LANES, settings.unit, found)
        sims, largest = found[0, first:], found[1, first:]
        settings.check_distance(largest[sims != 1.0].max(initial=0.0))  # equal runs are not checked
        return sims


def _pad_states(run: Trajectory, length: int) -> NDArray[np.float64]:
    """Return the first `length` states, (length, dimensions), with zeros up to a multiple of COORDINATES columns."""
    from behavesim.similarity.kernels import euclidean

    states = run.data[:length]
    return np.pad(states, ((0, 0), (0, -states.shape[1] % euclidean.COORDINATES)))


# The encoder of each kind of trajectory with a kernel that compares one run with many.
ENCODERS: Mapping[Kind, Callable[[], BlockEncoder]] = {"prefixes": PrefixEncoder, "vectors": VectorEncoder}
