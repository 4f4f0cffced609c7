"""A program's runs on all instances as stored bytes, decoded at first use: most are never looked at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

from behavesim.base.errors import TrajectoryError
from behavesim.trajectory.samples import AlgorithmRun, pack, unpack


class Behaviour(Sequence[AlgorithmRun]):
    """A program's runs, one for each instance, from the bytes that `pack` returned; equal to a tuple of the same runs.

    The bytes are decoded at first use. Raises ValueError if it is given something else than bytes, such as None, and
    TrajectoryError at first use if the bytes are damaged.
    """

    def __init__(self, packed: object) -> None:
        if not isinstance(packed, bytes):
            raise ValueError("its trajectories are missing")
        self.packed = packed

    @cached_property
    def runs(self) -> tuple[AlgorithmRun, ...]:
        """The run on each instance; raises TrajectoryError if the bytes are damaged."""
        try:
            return unpack(self.packed)
        except ValueError as error:
            why = f"what a program did cannot be read where it is stored: {error}"
            raise TrajectoryError(f"{why}; `behavesim verify` lists what is damaged") from error

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
        return hash(self.runs)  # equal to the tuple's; `packed` is the key for those who want to decode nothing

    def __repr__(self) -> str:
        return repr(self.runs)


def packed(runs: Sequence[AlgorithmRun]) -> bytes:
    """Return the bytes that `pack` makes of the runs, without decoding a `Behaviour`; equal runs give equal bytes."""
    return runs.packed if isinstance(runs, Behaviour) else pack(runs)
