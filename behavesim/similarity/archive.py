"""Algorithms to compare with, encoded once: an archive that grows in place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from behavesim.errors import TrajectoryError
from behavesim.similarity.blocks import Lanes, Members
from behavesim.similarity.granularity import Granularity
from behavesim.similarity.pairs import Run, check_alike
from behavesim.similarity.prefixes import PrefixLanes
from behavesim.similarity.samples import Samples
from behavesim.similarity.sequences import SequenceLanes
from behavesim.similarity.vectors import VectorLanes
from behavesim.trajectory import Kind, Trajectory

Algorithm = Sequence[Run | Sequence[Run]]
"""What an algorithm did on each instance; where a task has several starting points, on each of them in order."""

LANES: dict[Kind, Callable[[], Lanes]] = {"prefixes": PrefixLanes, "sequences": SequenceLanes, "vectors": VectorLanes}
"""How the distinct runs of a kind are encoded for a kernel across the archive."""

KERNELS = {"prefixes": "prefix", "sequences": "sequence", "vectors": "euclidean", "sets": "scalar"}
"""The kernels that compare each kind of trajectory with an archive."""

Shape = tuple[int, ...]
"""The number of starting points of each instance."""


def runs_of(algorithm: Algorithm) -> tuple[tuple[Run, ...], Shape]:
    """The runs of an algorithm, instance by instance, and how many there are of each instance.

    Raises TrajectoryError where there is no run, or something that is not one.
    """
    if isinstance(algorithm, Trajectory | Samples):
        raise TrajectoryError("an algorithm is a sequence of trajectories, one for each instance; got a single one")
    instances = [(entry,) if isinstance(entry, Trajectory | Samples) else tuple(entry) for entry in algorithm]
    if not instances or not all(instances):
        raise TrajectoryError(
            "an algorithm needs a trajectory for every instance; got an instance without one, or none"
        )
    runs = tuple(run for instance in instances for run in instance)
    for run in runs:
        if not isinstance(run, Trajectory | Samples):
            raise TrajectoryError(f"an algorithm is made of Trajectory or Samples; got {type(run).__name__}")
    return runs, tuple(len(instance) for instance in instances)


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


class Slot:
    """One instance and starting point of an archive: the distinct runs, and which of them each algorithm has."""

    def __init__(self) -> None:
        self.distinct: list[Run] = []
        self._rows: dict[Run, int] = {}
        self._members = np.empty(64, np.intp)
        self._count = 0
        self._has_lanes = True
        self._lanes: dict[Granularity, Lanes] = {}
        self._encoding = threading.Lock()

    def append(self, run: Run) -> None:
        """Add the next algorithm's run; one that is known costs a look-up."""
        row = self._rows.setdefault(run, len(self.distinct))
        if row == len(self.distinct):
            self._has_lanes = self._has_lanes and isinstance(run, Trajectory) and run.kind in LANES
            self.distinct.append(run)
        if self._count == self._members.size:
            self._members = np.concatenate([self._members, np.empty_like(self._members)])
        self._members[self._count] = row
        self._count += 1

    @property
    def members(self) -> NDArray[np.intp]:
        """(N,) the row in `distinct` of each algorithm's run."""
        return self._members[: self._count]

    def encoded(self, granularity: Granularity) -> Members | None:
        """The distinct runs as the kernel reads them that compares one with all; None where no kernel takes them.

        What was appended since the last time is encoded now; the lock lets several threads compare at once.
        """
        if not self._has_lanes:
            return None
        with self._encoding:
            if granularity not in self._lanes:
                self._lanes[granularity] = LANES[self.distinct[0].kind]()
            lanes = self._lanes[granularity]
            for run in self.distinct[lanes.count :]:
                assert isinstance(run, Trajectory), "samples have no lanes"
                lanes.append(run, granularity.length(len(run)))
            return lanes.snapshot()


class Archive:
    """Algorithms, each given by its runs, one for each instance; the archive grows in place and is never changed.

    It has one writer; comparing from other threads meanwhile is safe, and sees the archive as it was when it began.
    Raises TrajectoryError where algorithms differ in the number of instances or starting points, or in kind.
    """

    def __init__(self, algorithms: Iterable[Algorithm] = ()) -> None:
        self.shape: Shape = ()
        self.slots: tuple[Slot, ...] = ()
        self._algorithms: list[tuple[Run, ...]] = []
        for algorithm in algorithms:
            self.append(algorithm)

    def __len__(self) -> int:
        """The number of algorithms, copies included."""
        return len(self._algorithms)

    def append(self, algorithm: Algorithm) -> None:
        """Add an algorithm at the end."""
        runs, shape = runs_of(algorithm)
        if not self.slots:
            self.shape, self.slots = shape, tuple(Slot() for _ in runs)
        check_shapes(self.shape, shape)
        for slot, run in zip(self.slots, runs, strict=True):
            if slot.distinct:
                check_alike(slot.distinct[0], run)
        for slot, run in zip(self.slots, runs, strict=True):
            slot.append(run)
        self._algorithms.append(runs)

    def take(self, rows: Iterable[int]) -> Archive:
        """A new archive of the algorithms in the given rows, in that order."""
        taken = Archive()
        if self.slots:
            taken.shape, taken.slots = self.shape, tuple(Slot() for _ in self.slots)
        for row in rows:
            taken._algorithms.append(self._algorithms[row])
            for slot, run in zip(taken.slots, self._algorithms[row], strict=True):
                slot.append(run)
        return taken

    def warm(self) -> None:
        """Load the kernels that its kinds need, which takes a moment, and longer when they are first compiled."""
        for kind in {slot.distinct[0].kind for slot in self.slots if slot.distinct}:
            import_module(f"behavesim.similarity.kernels.{KERNELS[kind]}")
