"""Algorithms to compare with, encoded once: an archive that grows in place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import TrajectoryError
from behavesim.similarity.blocks import Batch, Encoder
from behavesim.similarity.granularity import Granularity
from behavesim.similarity.pairs import check_alike, check_run
from behavesim.similarity.prefixes import PrefixEncoder
from behavesim.similarity.sequences import SequenceEncoder
from behavesim.similarity.vectors import VectorEncoder
from behavesim.trajectory import AlgorithmRun, Kind, Samples, Trajectory, described

Algorithm = Sequence[AlgorithmRun | Sequence[AlgorithmRun]]
"""One run for each instance; or for each instance a sequence of runs, one for each starting point."""

ENCODERS: dict[Kind, Callable[[], Encoder]] = {
    "prefixes": PrefixEncoder,
    "sequences": SequenceEncoder,
    "vectors": VectorEncoder,
}
"""The encoder of each kind of trajectory, for the kernel that compares one run with many."""

KERNELS = {"prefixes": "prefix", "sequences": "sequence", "vectors": "euclidean", "sets": "scalar"}
"""The kernels that compare each kind of trajectory with an archive."""

Shape = tuple[int, ...]
"""The number of starting points of each instance."""


def runs_of(algorithm: Algorithm) -> tuple[tuple[AlgorithmRun, ...], Shape]:
    """Return the runs of an algorithm, instance by instance, and the number of runs of each instance.

    Raises TrajectoryError where an instance has no run, or something is not a run.
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
    """Return the entries of a sequence; raises TrajectoryError where the value is not a sequence."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise TrajectoryError(f"an algorithm is made of {expected}; got {described(value)}")
    return tuple(value)


def check_shapes(left: Shape, right: Shape) -> None:
    """Raise TrajectoryError where two algorithms ran on different instances or starting points."""
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
        self.distinct: list[AlgorithmRun] = []
        """The different runs, in order of first arrival."""
        self._positions: dict[AlgorithmRun, int] = {}
        self._indices = np.empty(64, np.intp)
        self._count = 0
        self._has_encoder = True
        self._encoders: dict[Granularity, Encoder] = {}
        self._encoding = threading.Lock()

    def append(self, run: AlgorithmRun) -> None:
        """Add the next algorithm's run; a run that is stored already costs one look-up."""
        position = self._positions.setdefault(run, len(self.distinct))
        if position == len(self.distinct):
            self._has_encoder = self._has_encoder and isinstance(run, Trajectory) and run.kind in ENCODERS
            self.distinct.append(run)
        if self._count == self._indices.size:
            self._indices = np.concatenate([self._indices, np.empty_like(self._indices)])
        self._indices[self._count] = position
        self._count += 1

    @property
    def indices(self) -> NDArray[np.intp]:
        """Return (algorithms,) the index in `distinct` of each algorithm's run."""
        return self._indices[: self._count]

    def encoded(self, granularity: Granularity) -> Batch | None:
        """Return the distinct runs encoded for the kernel of their kind; None where no kernel can compare them.

        Runs appended since the last call are encoded now. The lock allows calls from several threads.
        """
        if not self._has_encoder:
            return None
        with self._encoding:
            if granularity not in self._encoders:
                self._encoders[granularity] = ENCODERS[self.distinct[0].kind]()
            encoder = self._encoders[granularity]
            for run in self.distinct[encoder.count :]:
                assert isinstance(run, Trajectory), "samples have no encoder"
                encoder.append(run, granularity.length(len(run)))
            return encoder.batch()


class Archive:
    """Algorithms, each given by its runs, one for each instance; algorithms can be appended, and never change.

    One thread may append while others compare: a comparison sees the algorithms that were there when it began.
    Raises TrajectoryError where algorithms differ in the number of instances or starting points, or in kind.
    """

    def __init__(self, algorithms: Iterable[Algorithm] = ()) -> None:
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
        """Add an algorithm at the end."""
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

        Raises TrajectoryError where there is no such row; rows count from 0.
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
        """Load the kernels for the kinds of its runs: about 1 s, or up to 60 s to compile them first."""
        for kind in {column.distinct[0].kind for column in self.columns if column.distinct}:
            import_module(f"behavesim.similarity.kernels.{KERNELS[kind]}")
