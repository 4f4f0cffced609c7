"""Algorithms to compare with, encoded once: an archive that grows in place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import TrajectoryError
from behavesim.similarity.blocks import Compare, Encoder, GrowingArray
from behavesim.similarity.pairs import check_alike, check_run
from behavesim.similarity.prefixes import prefix_encoder
from behavesim.similarity.sequences import SequenceEncoder
from behavesim.similarity.settings import MeasureSettings
from behavesim.similarity.vectors import vector_encoder
from behavesim.trajectory import AlgorithmRun, Kind, Samples, Trajectory, described

Algorithm = Sequence[AlgorithmRun | Sequence[AlgorithmRun]]
"""One run for each instance; or for each instance a sequence of runs, one for each starting point."""

ENCODERS: dict[Kind, Callable[[], Encoder]] = {
    "prefixes": prefix_encoder,
    "sequences": SequenceEncoder,
    "vectors": vector_encoder,
}
"""For each kind of trajectory with a kernel that compares one run with many: makes an empty encoder."""

KERNELS = {"prefixes": "prefix", "sequences": "sequence", "vectors": "euclidean", "sets": "scalar"}
"""The module of `kernels` that compares each kind of trajectory: sets pair by pair, the others one run with many."""

Shape = tuple[int, ...]
"""The number of starting points of each instance, in the order of the instances."""


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
    """Return the entries of `value`; raises TrajectoryError that names `expected` if it is a text or not iterable."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise TrajectoryError(f"an algorithm is made of {expected}; got {described(value)}")
    return tuple(value)


def check_shapes(left: Shape, right: Shape) -> None:
    """Raise TrajectoryError if the shapes of two algorithms differ: the numbers of instances or of starting points."""
    if len(left) != len(right):
        raise TrajectoryError(
            f"algorithms are compared on the same instances; got {len(left)} and {len(right)} instances"
        )
    if left != right:
        raise TrajectoryError(
            "algorithms are compared from the same starting points; "
            f"got {list(left)} and {list(right)} of them on the instances"
        )


class Column:
    """The runs of all algorithms of an archive on one instance from one starting point; equal runs are stored once."""

    def __init__(self) -> None:
        """Begin with no run."""
        self.distinct: list[AlgorithmRun] = []
        """The different runs, in order of first arrival."""
        self._positions: dict[AlgorithmRun, int] = {}
        self._indices = GrowingArray(np.intp)
        self._has_encoder = True
        self._encoders: dict[float, Encoder] = {}  # by `truncate`, which decides how many states are encoded
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
        """Return the comparison of a run with the distinct runs by the kernel of their kind; None if there is none.

        There is none for sets, samples, and settings other than plain ones (`MeasureSettings.is_plain`). Runs appended
        since the last call are encoded now. Several threads may call this.
        """
        if not (self._has_encoder and settings.is_plain):
            return None
        with self._encoding:
            if settings.truncate not in self._encoders:
                self._encoders[settings.truncate] = ENCODERS[self.distinct[0].kind]()
            encoder = self._encoders[settings.truncate]
            for run in self.distinct[encoder.count :]:
                assert isinstance(run, Trajectory), "samples have no encoder"
                encoder.append(run, settings.length(len(run)))
            return encoder.comparer()


class Archive:
    """Algorithms, each given by its runs, one for each instance; algorithms can be appended, and never change.

    One thread may append while others compare: a comparison sees the algorithms that were there when it began. All must
    have the same numbers of instances and starting points, and on each instance one kind of trajectory.
    """

    def __init__(self, algorithms: Iterable[Algorithm] = ()) -> None:
        """Begin with these algorithms; raises TrajectoryError if they are not iterable, or if one does not fit."""
        self.shape: Shape = ()
        self.columns: tuple[Column, ...] = ()
        self._algorithms: list[tuple[AlgorithmRun, ...]] = []
        if not isinstance(algorithms, Iterable):
            raise TrajectoryError(f"an archive is made of algorithms, a sequence of them; got {described(algorithms)}")
        for algorithm in algorithms:
            self.append(algorithm)

    def __len__(self) -> int:
        """The number of algorithms, copies included."""
        return len(self._algorithms)

    def append(self, algorithm: Algorithm) -> None:
        """Add an algorithm at the end; the first one decides what the others must be like.

        Raises TrajectoryError, and adds nothing, if an instance has no run, or if numbers of instances or starting
        points, kinds or dimensions are not those of the others.
        """
        runs, shape = runs_of(algorithm)
        if not self.columns:
            self.shape, self.columns = shape, tuple(Column() for _ in runs)
        check_shapes(self.shape, shape)
        for column, run in zip(self.columns, runs, strict=True):
            if column.distinct:
                check_alike(column.distinct[0], run)
        for column, run in zip(self.columns, runs, strict=True):
            column.append(run)
        self._algorithms.append(runs)

    def take(self, rows: Iterable[int]) -> Archive:
        """Return a new archive of the algorithms in the given rows, in that order.

        A row may be given more than once. Raises TrajectoryError if there is no such row; rows count from 0.
        """
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
