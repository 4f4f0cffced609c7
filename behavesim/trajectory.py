"""Problem-solving trajectories (PSTraj): the partial solutions an algorithm goes through, first to last.

See the paper, section "BehaveSim: Measuring Behavioral Similarity between Algorithms", paragraph "Problem-solving
Trajectory". Also samples of the trajectories of algorithms that draw at random, and how both are stored.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from behavesim.base.errors import TrajectoryError

__all__ = [
    "MAX_STATES",
    "AlgorithmRun",
    "Behaviour",
    "Kind",
    "Samples",
    "Trajectory",
    "describe_value",
    "fixed_seed",
    "pack",
    "pack_states",
    "sample",
    "trajectories_of",
    "unpack",
]

# How states are stored and compared: by edit distance (prefixes, sequences, sets) or Euclidean distance (vectors).
Kind = Literal["prefixes", "sequences", "sets", "vectors"]

# The integers of one or more states; each stands for a choice of the algorithm.
Tokens = NDArray[np.signedinteger[Any]]
# All kinds, in an order that must stay: a stored trajectory names its kind by the index here.
KINDS: tuple[Kind, ...] = get_args(Kind)
# Most states of a trajectory, and most tokens in all of them: lengths are 32-bit integers in kernels and on disk.
MAX_STATES = 2**31 - 1

# Stored trajectories name their type by the index here. The smallest that fits is chosen: journals hold thousands.
_DTYPES = ("<i1", "<i2", "<i4", "<i8", "<f8")
_STORED = tuple(np.dtype(name) for name in _DTYPES)
_RANGES = tuple((int(np.iinfo(dtype).min), int(np.iinfo(dtype).max), dtype) for dtype in _STORED[:-1])
# Largest token, 2**63 - 1.
MAX_TOKEN = _RANGES[-1][1]
_LENGTHS = np.dtype("<u4")  # of the states' lengths in stored sequences and sets, in tokens
_NO_LENGTHS = np.empty(0, _LENGTHS)
_HEADER = struct.Struct("<BBII")  # kind, dtype (indices into KINDS and _DTYPES), states, numbers in all


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trajectory:
    """The states an algorithm went through on one instance; immutable, compared and hashed by content.

    Build one with `prefixes`, `sequences`, `sets` or `vectors`, which copy their input. They raise TrajectoryError if
    there is no state, if tokens are not 64-bit integers, if a coordinate is not finite, or above 2**31 - 1 states.
    """

    kind: Kind
    # prefixes: (states,) decisions; vectors: (states, dimensions) float64; else the states' tokens, end to end
    data: NDArray[Any]
    # sequences and sets: (states,) the index in `data` after each state's last token; None for the other kinds
    ends: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        # The arrays are copied only if equal states would not be equal trajectories: journals hold thousands, which
        # `from_bytes` reads without a copy.
        _check(self.kind, self.data, self.ends)
        data, ends = _canonical(self.kind, self.data, self.ends)
        for name, array in (("data", data), ("ends", ends)):
            if array is not None:
                array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def prefixes(cls, decisions: ArrayLike) -> Trajectory:
        """Return a trajectory whose state i is the first i + 1 `decisions`, as in a tour that is built city by city.

        decisions: (states,) integers. Two states are compared by edit distance.
        """
        array = _array(decisions)
        _check_states(array.size)  # before the copy, which could be huge
        return cls("prefixes", _tokens(array, "decisions"))

    @classmethod
    def sequences(cls, states: Iterable[ArrayLike]) -> Trajectory:
        """Return a trajectory whose states are sequences of integers of any length, compared by edit distance."""
        return _from_states("sequences", states, lambda state: _tokens(state, "a state"))

    @classmethod
    def sets(cls, states: Iterable[Iterable[int]]) -> Trajectory:
        """Return a trajectory whose states are sets of integers; order and repetition do not count.

        Two states are compared by the edits that turn one set into the other: max(|A|, |B|) - |A & B|.
        """
        return _from_states("sets", states, lambda state: np.unique(_tokens(_members(state), "a state")))

    @classmethod
    def vectors(cls, states: ArrayLike) -> Trajectory:
        """Return a trajectory whose states are the rows of a (states, dimensions) array; distances are Euclidean."""
        array = _array(states)
        if array.ndim != 2 or array.dtype.kind not in "fiu":
            raise TrajectoryError(
                "vectors need an array of real numbers with shape (states, dimensions); "
                f"got {array.dtype} with shape {array.shape}"
            )
        return cls("vectors", array.astype("<f8"))

    def __len__(self) -> int:
        """Return the number of states, at least 1."""
        return len(self.data if self.ends is None else self.ends)

    def state(self, index: int) -> NDArray[Any]:
        """Return state `index`, from 0: its tokens in order (a set's ascending), or its coordinates; read-only."""
        if not 0 <= index < len(self):
            raise TrajectoryError(f"a trajectory of {len(self)} states has no state {index!r}; states count from 0")
        if self.kind == "prefixes":
            return self.data[: index + 1]
        if self.ends is None:
            return np.asarray(self.data[index])
        return self.data[self.ends[index - 1] if index else 0 : self.ends[index]]

    def values(self) -> list[Any]:
        """Return each state as a list of numbers, for JSON; for prefixes, only the last state, as one flat list."""
        if self.ends is None:
            return list(self.data.tolist())
        return [self.state(index).tolist() for index in range(len(self))]

    def to_bytes(self) -> bytes:
        """Return the trajectory as bytes that `from_bytes` reads: kind, dtype, shape and numbers, little-endian."""
        dtype = np.dtype(self.data.dtype).newbyteorder("<").str.replace("|", "<")
        header = _HEADER.pack(KINDS.index(self.kind), _DTYPES.index(dtype), len(self), self.data.size)
        lengths = b"" if self.ends is None else np.diff(self.ends, prepend=0).astype("<u4").tobytes()
        return header + lengths + self.data.astype(dtype, copy=False).tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Trajectory:
        """Return the trajectory that `to_bytes` wrote as `data`; raises TrajectoryError if the bytes are not one."""
        # A damaged header may say anything: numpy and the checks of the constructor refuse what does not fit.
        try:
            kind, dtype, states, size = _HEADER.unpack_from(data)
            is_ragged = KINDS[kind] in ("sequences", "sets")
            lengths = np.frombuffer(data, _LENGTHS, states, _HEADER.size) if is_ragged else _NO_LENGTHS
            array = np.frombuffer(data, _STORED[dtype], size, _HEADER.size + lengths.nbytes)
            counts_differ = KINDS[kind] == "prefixes" and states != size
            if counts_differ or len(data) != _HEADER.size + lengths.nbytes + array.nbytes:
                raise ValueError("its header and its length disagree")
            if KINDS[kind] == "vectors":
                array = array.reshape(states, -1)
            return cls(KINDS[kind], array, np.cumsum(lengths, dtype=np.int64) if is_ragged else None)
        except (struct.error, ValueError, IndexError) as error:
            raise TrajectoryError(f"{len(data)} bytes are not a stored trajectory: {error}") from error

    # by bytes, of which equal states have equal ones (see `_canonical`): arrays are neither compared nor hashed as a
    # whole
    def __eq__(self, other: object) -> bool:
        return self.to_bytes() == other.to_bytes() if isinstance(other, Trajectory) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __repr__(self) -> str:
        return f"<Trajectory of {len(self)} {self.kind}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Trajectory.from_bytes, (self.to_bytes(),)


def describe_value(value: object) -> str:
    """Return a value's type, then its `repr` cut to 40 characters, for an error message."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:39] + '…'}"


def _array(values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise TrajectoryError(f"the states of a trajectory must be numbers in a regular array: {error}") from error


def _check(kind: Kind, data: NDArray[Any], ends: NDArray[np.int64] | None) -> None:
    """Raise TrajectoryError if kind, data and ends do not fit together; the constructor may be called directly."""
    if kind not in KINDS or (ends is None) == (kind in ("sequences", "sets")):
        raise TrajectoryError(f"a trajectory is made by one of {', '.join(KINDS)}; got parts of none")
    if data.ndim != (2 if kind == "vectors" else 1) or not (
        data.dtype == np.float64 if kind == "vectors" else data.dtype.kind == "i"
    ):
        raise TrajectoryError(f"{kind} are not stored as {data.dtype} of shape {data.shape}")
    _check_states(len(data) if ends is None else len(ends))
    if ends is not None and (ends[0] < 0 or ends[-1] != data.size or (ends[1:] < ends[:-1]).any()):
        raise TrajectoryError(f"the states of {kind} must lie end to end in their data")
    if kind == "vectors":
        _check_coordinates(data)


def _canonical(
    kind: Kind, data: NDArray[Any], ends: NDArray[np.int64] | None
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Return checked parts of a trajectory in the one form by which equal states have equal bytes."""
    # the smallest integers, sets ascending, and no -0.0; parts that have it, as all stored ones do, are not copied
    if kind == "vectors":
        has_negative_zeros = not data.all() and bool(np.signbit(data[data == 0.0]).any())
        return (data + 0.0 if has_negative_zeros else data), ends  # -0.0 + 0.0 is 0.0
    if kind == "sets" and ends is not None:
        # most are in order already, and sorting each state takes long
        is_out_of_order = data[1:] <= data[:-1]
        is_out_of_order[ends[(ends > 0) & (ends < data.size)] - 1] = False  # where one state ends and another begins
        if is_out_of_order.any():
            states = [np.unique(state) for state in np.split(data, ends[:-1])]
            data, ends = np.concatenate(states), np.cumsum([state.size for state in states], dtype=np.int64)
    return (data if data.dtype == np.int8 else _in_smallest(data)), ends


def _check_coordinates(states: NDArray[np.float64]) -> None:
    if states.shape[1] == 0:
        raise TrajectoryError("vectors need at least one dimension; got states without a coordinate")
    if not np.isfinite(states).all():
        row, column = np.argwhere(~np.isfinite(states))[0]
        raise TrajectoryError(f"vectors must be finite; state {row} has {states[row, column]} at coordinate {column}")


def _check_states(count: int) -> None:
    if count == 0:
        raise TrajectoryError("a trajectory needs at least one state; got none")
    if count > MAX_STATES:
        raise TrajectoryError(f"a trajectory has at most {MAX_STATES} states; got {count}: sample it first")


def _tokens(values: ArrayLike, what: str) -> Tokens:
    """Return a flat copy in the smallest signed integer dtype that holds every value; empty values give int8."""
    array = _array(values)
    if array.ndim != 1:
        raise TrajectoryError(f"{what} must be a flat sequence of integers; got an array of shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.int8)
    if array.dtype.kind not in "iu":
        raise TrajectoryError(f"{what} must be integers of 64 bits; got {array.dtype}: number the choices 0, 1, 2, …")
    if (high := int(array.max())) > MAX_TOKEN:
        raise TrajectoryError(f"{what} must be integers of 64 bits; got {high}")
    return _in_smallest(array, copy=True)


def _in_smallest(array: NDArray[np.integer[Any]], copy: bool = False) -> Tokens:
    """Return integers in the smallest signed type that holds each, the array itself if it has it."""
    if array.size == 0:
        return array.astype(np.int8, copy=copy)
    low, high = int(array.min()), int(array.max())
    return array.astype(next(dtype for least, most, dtype in _RANGES if least <= low and high <= most), copy=copy)


def _from_states(kind: Kind, states: Iterable[Any], tokens: Callable[[Any], Tokens]) -> Trajectory:
    """Return a trajectory of states of any length; `tokens` makes a flat array of integers of one state."""
    if not isinstance(states, Iterable):
        raise TrajectoryError(f"{kind} are made of states, one after another; got {describe_value(states)}")
    parts = [tokens(state) for state in states]
    _check_states(len(parts))
    ends = np.cumsum([part.size for part in parts], dtype=np.int64)
    if ends[-1] > MAX_STATES:
        raise TrajectoryError(f"a trajectory's states hold at most {MAX_STATES} tokens in all; got {ends[-1]}")
    return Trajectory(kind, np.concatenate(parts), ends)


def _members(state: Iterable[int]) -> list[int]:
    """Return a set as a list: numpy makes no array of a set."""
    if not isinstance(state, Iterable):
        raise TrajectoryError(f"a state must be a set of integers; got {describe_value(state)}")
    return list(state)


# Runs an algorithm on an instance with the randomness it is given, and returns what the algorithm did.
Recorder = Callable[[np.random.Generator], Trajectory]

# Bytes of the length that `pack` stores before each AlgorithmRun.
_LENGTH_BYTES = 4
# First byte of stored samples; a stored trajectory begins with the index of its kind, which is smaller.
_SAMPLES = b"\xff"


@dataclass(frozen=True)
class Samples:
    """Runs of a stochastic algorithm on one instance (paper, "algorithms for stochastic internal state", option 1).

    The state at a step is the set of the runs' states at that step; a run that has ended stays in its last state.
    Raises TrajectoryError if there is no run, or not all are trajectories of one kind.
    """

    runs: tuple[Trajectory, ...]

    def __init__(self, runs: Iterable[Trajectory]) -> None:
        object.__setattr__(self, "runs", tuple(runs))
        for run in self.runs:
            if not isinstance(run, Trajectory):
                raise TrajectoryError(f"samples are made of trajectories; got {describe_value(run)}")
        kinds = sorted({run.kind for run in self.runs})
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise TrajectoryError(f"samples need at least one run, all of one kind; got {found}")

    @property
    def kind(self) -> Kind:
        """The kind that all runs have."""
        return self.runs[0].kind

    def __len__(self) -> int:
        """Return the number of steps: the states of the longest run."""
        return max(len(run) for run in self.runs)

    def values(self) -> list[list[object]]:
        """Return, for JSON, a list for each run: a list of numbers for each state, for prefixes only the last state."""
        return [run.values() for run in self.runs]

    def to_bytes(self) -> bytes:
        """Return the runs as bytes, which `unpack` reads; the first byte is one that no trajectory begins with."""
        return _SAMPLES + pack(self.runs)


# What an algorithm did on one instance: one trajectory, or several of an algorithm that draws at random.
AlgorithmRun = Trajectory | Samples


def trajectories_of(run: AlgorithmRun) -> tuple[Trajectory, ...]:
    """Return the trajectories of a run: one, or each of the samples."""
    return run.runs if isinstance(run, Samples) else (run,)


def sample(record: Recorder, samples: int = 16, seed: int = 0) -> Samples:
    """Return what an algorithm does in `samples` calls of `record`; 16 usually suffice to tell two distributions apart.

    Call r, from 0, gets the generator `numpy.random.default_rng([seed, r])`.
    """
    return Samples(record(np.random.default_rng([seed, run])) for run in range(samples))


def fixed_seed(record: Recorder, seed: int = 0) -> Trajectory:
    """Return what an algorithm does with one seed: reproducible and cheap, but biased (paper, option 2).

    `record` gets the generator `numpy.random.default_rng(seed)`.
    """
    return record(np.random.default_rng(seed))


def pack(behaviour: Sequence[AlgorithmRun]) -> bytes:
    """Return the runs of all instances as bytes, each after its length in bytes (32-bit little-endian)."""
    encoded = [run.to_bytes() for run in behaviour]
    return b"".join(len(data).to_bytes(_LENGTH_BYTES, "little") + data for data in encoded)


def unpack(blob: bytes) -> tuple[AlgorithmRun, ...]:
    """Return the runs from the bytes of `pack`; raises ValueError if they are cut off or are something else."""
    return tuple(_unpack_run(part) for part in _split(blob))


def _unpack_run(data: bytes) -> AlgorithmRun:
    if data.startswith(_SAMPLES):
        return Samples(Trajectory.from_bytes(part) for part in _split(data[len(_SAMPLES) :]))
    return Trajectory.from_bytes(data)


def _split(blob: bytes) -> Iterator[bytes]:
    """Yield the bytes of each run that `pack` stored one after another; raises ValueError if the last is cut off."""
    end = 0
    while end < len(blob):
        start = end + _LENGTH_BYTES
        end = start + int.from_bytes(blob[end:start], "little")
        if end > len(blob):
            raise ValueError("a trajectory is cut off")
        yield blob[start:end]


class Behaviour(Sequence[AlgorithmRun]):
    """A program's runs, one for each instance, from the bytes of `pack`; equal to a tuple of the same runs.

    Raises TrajectoryError at first use if the bytes are damaged.
    """

    # decoded at first use: of a journal's behaviours most are never looked at, and decoding all takes seconds
    def __init__(self, packed: object) -> None:
        if not isinstance(packed, bytes):
            raise ValueError("its trajectories are missing")
        self.packed = packed

    @cached_property
    def runs(self) -> tuple[AlgorithmRun, ...]:
        """The run on each instance."""
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
        return hash(self.runs)  # equal to the tuple's; `pack_states` is the key for those who want to decode nothing

    def __repr__(self) -> str:
        return repr(self.runs)


def pack_states(runs: Sequence[AlgorithmRun]) -> bytes:
    """Return the bytes that `pack` makes of the runs, without decoding a `Behaviour`; equal runs give equal bytes."""
    return runs.packed if isinstance(runs, Behaviour) else pack(runs)
