"""Frames: the bytes that a candidate's process sends to the trusted one. They hold arrays and no code.

A frame is `<II` (the size of all that follows, the size of the header), a JSON header, and the arrays' bytes in order.
The header is {"solutions": [[[name, dtype, shape], …] for each instance]} or {"failure": reason, "message": text}.

The frame of one answer of a program apart is smaller, since there may be thousands. It is `<IBB` (the size of all that
follows, the index in ANSWER_TYPES, the number of dimensions), each dimension as `<I`, and the array's bytes. A failed
answer has FAILED as its index, no dimensions, and a whole frame in place of the array.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from behavesim.task import Solution
from behavesim.task.verdict import Failure, Solved

# Start of a frame: the bytes that follow it, and the bytes of the header.
PREFIX = struct.Struct("<II")
# Most bytes of a frame's header, besides HEADER_BYTES_AN_INSTANCE for each instance.
HEADER_LIMIT = 1 << 16
# Bytes by which each instance raises the limit on the header: a solution of one array takes about 20.
HEADER_BYTES_AN_INSTANCE = 256
# The types of arrays that a frame may hold: little-endian numbers and truth values.
DTYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"})
# Most dimensions of an array: more than any task needs.
DIMENSIONS_LIMIT = 8
# Start of an answer's frame: the bytes that follow it, the index in ANSWER_TYPES, and the number of dimensions.
ANSWER = struct.Struct("<IBB")
# The types of DTYPES in alphabetical order; an answer's frame names its type by the index here.
ANSWER_TYPES = [np.dtype(name) for name in sorted(DTYPES)]
# The type index that marks an answer's frame as a failure.
FAILED = 255
# Largest product of the non-zero dimensions of an empty array.
#
# Empty arrays cost nothing to send, but a huge shape could exhaust memory in a reduction.
EMPTY_LIMIT = 1 << 16
# Most characters of a failure's message; the rest is cut off.
MESSAGE_LIMIT = 500
# The reasons that a candidate's process may give for its failure; trusted code finds others, such as "timeout".
OWN_REASONS = frozenset({"memory", "exit", "output", "invalid-solution", "exception", "forbidden", "keeps-state"})


class FrameError(ValueError):
    """Raised for bytes that are no valid frame, and for a result that a frame cannot hold."""


class TooLarge(FrameError):
    """Raised when arrays are encoded that have, or whose header has, more bytes than the limit."""


# One array's entry in a header: its name, type and shape.
_Layout = tuple[str, np.dtype[Any], tuple[int, ...]]


def encode_solutions(solutions: Sequence[Mapping[str, NDArray[Any]]], limit: int) -> bytes:
    """Return the frame (the bytes to send) of the solutions, one for each instance, each a mapping of names to arrays.

    Raises TooLarge for more than `limit` bytes or too long a header, FrameError for what `decode` would refuse.
    """
    plain = [{name: _plain(array) for name, array in solution.items()} for solution in solutions]
    arrays = [array for solution in plain for array in solution.values()]
    size = sum(array.nbytes for array in arrays)
    if size > limit:
        raise TooLarge(f"solutions of {size} bytes came; the limit is {limit}")
    described = [[[name, array.dtype.str, list(array.shape)] for name, array in each.items()] for each in plain]
    for each in described:
        _layouts(each)
    data = b"".join(array.tobytes() for array in arrays)
    return _frame({"solutions": described}, data, header_limit(len(plain)))


def header_limit(instances: int) -> int:
    """Return the most bytes that the header of a frame may have, for the number of instances."""
    return HEADER_LIMIT + HEADER_BYTES_AN_INSTANCE * instances


def frame_limit(instances: int, output: int) -> int:
    """Return the most bytes of a frame whose arrays have `output` bytes, for the number of instances."""
    return PREFIX.size + header_limit(instances) + output


def encode_failure(reason: str, message: str) -> bytes:
    """Return the frame of a failure, its message cut and cleaned; `decode` takes no reason beyond OWN_REASONS."""
    return _frame({"failure": reason, "message": as_message(message)}, b"", HEADER_LIMIT)


def decode(frame: bytes | memoryview, instances: int) -> tuple[Solution, ...] | Failure:
    """Return what a whole frame holds: one solution for each instance, read-only unless empty, or a failure.

    The bytes may be anything: raises FrameError if they break a rule.
    """
    if len(frame) < PREFIX.size:
        _refuse(f"{len(frame)} bytes are no frame")
    size, header_size = PREFIX.unpack_from(frame)
    if size != len(frame) - PREFIX.size or header_size > min(size, header_limit(instances)):
        raise FrameError(
            f"the program's process sent bytes that are no solution (length says {size:,}, "
            f"{len(frame) - PREFIX.size:,} came); did it write to file 3 or end itself?"
        )
    try:
        header = json.loads(bytes(frame[PREFIX.size : PREFIX.size + header_size]))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"its header is no JSON: {type(error).__name__}") from error
    match header:
        case {"failure": str(reason), "message": str(message), **others} if reason in OWN_REASONS and not others:
            return Failure(reason, as_message(message))
        case {"solutions": list(described), **others} if len(described) == instances and not others:
            return _solutions(described, memoryview(frame)[PREFIX.size + header_size :])
    _refuse(f"its header describes neither {instances} solutions nor a failure")


def read_solutions(
    frame: bytes | memoryview, instances: int, cpu_s: float = 0.0, counted_s: float | None = None
) -> Solved | Failure:
    """Return the solutions in a whole frame, or the failure: "output" for bytes that `decode` refuses."""
    try:
        held = decode(frame, instances)
    except FrameError as error:
        return Failure("output", str(error), cpu_s)
    return replace(held, cpu_s=cpu_s) if isinstance(held, Failure) else Solved(held, cpu_s, counted_s)


def encode_answer(answer: object, limit: int) -> bytes:
    """Return the frame of one answer of a program.

    Raises TooLarge if its array has more than `limit` bytes, FrameError if numpy makes no array of numbers of it.
    """
    # too many dimensions pass here: `decode_answer` refuses them
    try:
        array = _plain(np.asarray(answer))
    except (TypeError, ValueError) as error:
        raise FrameError(f"the function must return a number or an array of numbers: {error}") from error
    if array.nbytes > limit:
        raise TooLarge(f"an answer of {array.nbytes} bytes came; the limit is {limit}")
    shape = struct.pack(f"<{array.ndim}I", *array.shape)
    header = ANSWER.pack(len(shape) + array.nbytes, ANSWER_TYPES.index(array.dtype), array.ndim)
    return header + shape + array.tobytes()


def encode_failed_answer(reason: str, message: str) -> bytes:
    """Return the frame of an answer that is a failure; the arguments are those of `encode_failure`."""
    frame = encode_failure(reason, message)
    return ANSWER.pack(len(frame), FAILED, 0) + frame


def answer_size(start: bytes, limit: int) -> int:
    """Return how many bytes an answer's frame has in all, from at least its first ANSWER.size bytes.

    `limit` is for the bytes of its array. Raises FrameError if the frame is longer than that allows.
    """
    # HEADER_LIMIT leaves room for a failure where `limit` is small, 4 bytes a dimension for the shape
    size, _, _ = ANSWER.unpack_from(start)
    if size > max(limit, HEADER_LIMIT) + 4 * DIMENSIONS_LIMIT:
        _refuse("an answer is too long")
    return ANSWER.size + int(size)


def decode_answer(frame: bytes) -> NDArray[Any] | Failure:
    """Return what an answer's whole frame holds: a writable array, or a failure; FrameError if it is none."""
    size, kind, dimensions = ANSWER.unpack_from(frame)
    if kind == FAILED:
        failure = decode(frame[ANSWER.size :], 0)
        return failure if isinstance(failure, Failure) else _refuse("an answer is a solution")
    if kind >= len(ANSWER_TYPES) or size < 4 * dimensions:
        _refuse("an answer's header is none")
    shape = struct.unpack_from(f"<{dimensions}I", frame, ANSWER.size)
    array, rest = _array(ANSWER_TYPES[kind], _checked_shape(shape), memoryview(frame)[ANSWER.size + 4 * dimensions :])
    if rest:
        _refuse("an answer is longer than its header says")
    return array.copy()


def as_message(text: str) -> str:
    """Return the first 500 characters, with a space for each that cannot be printed, such as a line break."""
    return "".join(c if c.isprintable() else " " for c in text[:MESSAGE_LIMIT])


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array with little-endian numbers; raises FrameError if its type is not one of DTYPES."""
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"))
    if plain.dtype.str not in DTYPES:
        what = "None" if array.ndim == 0 and array.item() is None else f"of {array.dtype}"
        raise FrameError(f"a solution must be an array of numbers, not {what}")
    return plain


def _frame(header: Mapping[str, Any], data: bytes, limit: int) -> bytes:
    """Return a frame from its header and its arrays' bytes; raises TooLarge if the header exceeds `limit` bytes."""
    encoded = json.dumps(header).encode()
    if len(encoded) > limit:
        advice = "return fewer arrays for each instance, or shorter names"
        raise TooLarge(f"the arrays take {len(encoded)} bytes to describe; the limit is {limit}: {advice}")
    return PREFIX.pack(len(encoded) + len(data), len(encoded)) + encoded + data


def _solutions(described: Sequence[object], data: memoryview) -> tuple[Solution, ...]:
    solutions: list[Solution] = []
    for solution in described:
        named: dict[str, NDArray[Any]] = {}
        for name, dtype, shape in _layouts(solution):
            named[name], data = _array(dtype, shape, data)
        solutions.append(named[""] if list(named) == [""] else named)
    if data:
        _refuse("its arrays are longer than its header says")
    return tuple(solutions)


def _layouts(described: object) -> list[_Layout]:
    if not isinstance(described, list) or not described:
        _refuse("a solution has no array")
    if not all(isinstance(entry, list) and len(entry) == 3 for entry in described):
        _refuse("an array is not described")
    layouts = [_layout(*entry) for entry in described]
    if len({name for name, _, _ in layouts}) < len(layouts):
        _refuse("two arrays have one name")
    return layouts


def _layout(name: object, dtype: object, shape: object) -> _Layout:
    if not isinstance(name, str) or len(name) > 100 or not name.isprintable():
        _refuse("an array's name is none")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        _refuse("an array's type is not in the list")
    if not isinstance(shape, list):
        _refuse("an array's shape is none")
    return name, np.dtype(dtype), _checked_shape(shape)


def _checked_shape(shape: Sequence[Any]) -> tuple[int, ...]:
    if len(shape) > DIMENSIONS_LIMIT:
        _refuse("an array's shape is none")
    if any(type(length) is not int or not 0 <= length < 1 << 31 for length in shape):  # True is an int, too
        _refuse("an array's shape is not made of lengths")
    if 0 in shape and math.prod(length or 1 for length in shape) > EMPTY_LIMIT:
        _refuse("an array is empty and vast")
    return tuple(shape)


def _array(dtype: np.dtype[Any], shape: tuple[int, ...], data: memoryview) -> tuple[NDArray[Any], memoryview]:
    """Return the array of this type and shape that `data` begins with, and the rest of `data`."""
    if 0 in shape:
        return np.zeros(shape, dtype), data
    size = math.prod(shape) * dtype.itemsize
    if size > len(data):
        _refuse("an array is not as long as its header says")
    if dtype.kind == "b" and np.frombuffer(data[:size], np.uint8).max() > 1:
        _refuse("a truth value is neither 0 nor 1")  # numpy would let it be both
    return np.frombuffer(data[:size], dtype).reshape(shape), data[size:]


def _refuse(why: str) -> NoReturn:
    raise FrameError(f"the program's solutions cannot be read: {why}")
