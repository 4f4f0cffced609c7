"""What an algorithm did on all instances, as it is stored: of most programs of a journal nobody ever looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from behavesim.base.errors import TrajectoryError
from behavesim.trajectory.samples import AlgorithmRun, pack, unpack


class Behaviour(Sequence[AlgorithmRun]):
    """What `pack` made bytes of, instance by instance, read when it is first looked at; equal to a tuple of the same.

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
        """What it did on each instance."""
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
    """The same as bytes, which are equal where the behaviours are."""
    return runs.packed if isinstance(runs, Behaviour) else pack(runs)
