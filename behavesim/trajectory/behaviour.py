"""A program's runs on all instances as stored bytes, decoded at first use: most are never looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from behavesim.base.errors import TrajectoryError
from behavesim.trajectory.samples import AlgorithmRun, pack, unpack


class Behaviour(Sequence[AlgorithmRun]):
    """A sequence of runs, instance by instance, from the bytes of `pack`; decoded at first use. It equals a tuple.

    Raises ValueError where there are no bytes, and TrajectoryError, once it is looked at, where they are damaged.
    """

    __slots__ = ("_runs", "packed")

    def __init__(self, packed: object) -> None:
        if not isinstance(packed, bytes):
            raise ValueError("its trajectories are missing")
        self.packed = packed
        self._runs: tuple[AlgorithmRun, ...] | None = None

    @property
    def runs(self) -> tuple[AlgorithmRun, ...]:
        """Return the run on each instance."""
        if self._runs is None:
            try:
                self._runs = unpack(self.packed)
            except ValueError as error:
                why = f"what a program did cannot be read where it is stored: {error}"
                raise TrajectoryError(f"{why}; `behavesim verify` lists what is damaged") from error
        return self._runs

    def __len__(self) -> int:
        return len(self.runs)

    @overload
    def __getitem__(self, index: int) -> AlgorithmRun: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[AlgorithmRun]: ...
    def __getitem__(self, index: int | slice) -> AlgorithmRun | Sequence[AlgorithmRun]:
        return self.runs[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Behaviour):
            return self.packed == other.packed
        return self.runs == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.runs)  # as a tuple of the same has it; `packed` is the key that reads nothing

    def __repr__(self) -> str:
        return repr(self.runs)


def packed(runs: Sequence[AlgorithmRun]) -> bytes:
    """Return the runs as bytes; equal behaviours have equal bytes."""
    return runs.packed if isinstance(runs, Behaviour) else pack(runs)
