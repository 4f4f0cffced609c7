"""What crosses from a candidate's process to the trusted one: raw arrays under a short header, and nothing that runs.

A frame is `<II` (the size of all that follows, the size of the header), a JSON header, and the arrays' bytes in order.
The header is {"solutions": [[[name, dtype, shape], …] for each instance]} or {"failure": reason, "message": text}.

One answer of a program apart is smaller, since there may be thousands: `<IBB` (the size of all that follows, the type's
place in the list or 255 for a failure, the number of dimensions), the lengths as `<I` each, and the array's bytes; in
place of both a failure has its whole frame.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from behavesim.state.verdict import Failure
from behavesim.task import Solution

PREFIX = struct.Struct("<II")
HEADER_LIMIT = 1 << 16
HEADER_BYTES_AN_INSTANCE = 256
"""By which the limit grows: a solution of one array takes about 20 bytes to describe."""
DTYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"})
DIMENSIONS_LIMIT = 8
ANSWER = struct.Struct("<IBB")
ANSWER_TYPES = [np.dtype(name) for name in sorted(DTYPES)]
FAILED = 255
EMPTY_LIMIT = 1 << 16
"""What the lengths of an empty array, but for its zeros, may multiply to: it is sent for nothing, its sums are not."""
MESSAGE_LIMIT = 500
OWN_REASONS = frozenset({"memory", "exit", "output", "invalid-solution", "exception", "forbidden"})
"""The reasons a candidate's process may give for itself; timeout, crash and non-finite are others' to find."""


class FrameError(ValueError):
    """Bytes that are no frame, or an array that may not go into one."""


class TooLarge(FrameError):
    """More bytes of arrays than a frame may hold."""


@dataclass(frozen=True)
class _Layout:
    """Where one array lies in a frame."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def encode_solutions(solutions: Sequence[Mapping[str, NDArray[Any]]], limit: int) -> bytes:
    """The frame of one solution for each instance, of at most `limit` bytes of arrays, or TooLarge is raised.

    Raises FrameError for arrays that `decode` would refuse, such as those of anything but plain numbers.
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
    """The bytes that the header of a frame with so many solutions may have."""
    return HEADER_LIMIT + HEADER_BYTES_AN_INSTANCE * instances


def encode_failure(reason: str, message: str) -> bytes:
    """The frame of a candidate that has no solutions to show."""
    return _frame({"failure": reason, "message": as_message(message)}, b"", HEADER_LIMIT)


def decode(frame: bytes, instances: int) -> tuple[Solution, ...] | Failure:
    """What a whole frame holds, one solution for each of `instances`; raises FrameError where it breaks any rule."""
    if len(frame) < PREFIX.size:
        _refuse(f"{len(frame)} bytes are no frame")
    size, header_size = PREFIX.unpack_from(frame)
    if size != len(frame) - PREFIX.size or header_size > min(size, header_limit(instances)):
        _refuse("its lengths do not agree")
    header = _header(frame[PREFIX.size : PREFIX.size + header_size])
    data = memoryview(frame)[PREFIX.size + header_size :]
    if set(header) == {"failure", "message"}:
        return _failure(header["failure"], header["message"])
    if set(header) == {"solutions"}:
        return _solutions(header["solutions"], data, instances)
    _refuse("its header has other keys than it should")


def encode_answer(answer: object, limit: int) -> bytes:
    """The frame of one answer, of at most `limit` bytes; raises FrameError for what is no array of plain numbers."""
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
    """The frame of a program that has no answer to give."""
    frame = encode_failure(reason, message)
    return ANSWER.pack(len(frame), FAILED, 0) + frame


def answer_size(start: bytes, limit: int) -> int:
    """The bytes of a whole answer that starts so; raises FrameError where they would be more than one may have."""
    size, _, _ = ANSWER.unpack_from(start)
    if size > max(limit, HEADER_LIMIT) + 4 * DIMENSIONS_LIMIT:
        _refuse("an answer is too long")
    return ANSWER.size + int(size)


def decode_answer(frame: bytes) -> NDArray[Any] | Failure:
    """What the frame of one answer holds, an array that can be written to; raises FrameError where it breaks a rule."""
    size, kind, dimensions = ANSWER.unpack_from(frame)
    if kind == FAILED:
        failure = decode(frame[ANSWER.size :], 0)
        return failure if isinstance(failure, Failure) else _refuse("an answer is a solution")
    if kind >= len(ANSWER_TYPES) or dimensions > DIMENSIONS_LIMIT or size < 4 * dimensions:
        _refuse("an answer's header is none")
    dtype = ANSWER_TYPES[kind]
    shape = struct.unpack_from(f"<{dimensions}I", frame, ANSWER.size)
    if math.prod(shape) * dtype.itemsize != size - 4 * dimensions:
        _refuse("an answer is not as long as its header says")
    if 0 in shape and math.prod(length or 1 for length in shape) > EMPTY_LIMIT:
        _refuse("an answer is empty and vast")
    array = np.frombuffer(frame, dtype, offset=ANSWER.size + 4 * dimensions).reshape(shape)
    if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        _refuse("a truth value is neither 0 nor 1")
    return array.copy()


def whole_answer(frame: bytes, limit: int) -> NDArray[Any] | Failure:
    """The same, of bytes that may be anything."""
    if len(frame) < ANSWER.size or len(frame) != answer_size(frame, limit):
        _refuse("one answer was expected")
    return decode_answer(frame)


def as_message(text: str) -> str:
    """At most 500 characters that no terminal, database or markup takes for a command."""
    return "".join(c if c.isprintable() else " " for c in text[:MESSAGE_LIMIT])


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"))
    if plain.dtype.str not in DTYPES:
        what = "None" if array.ndim == 0 and array.item() is None else f"of {array.dtype}"
        raise FrameError(f"a solution must be an array of numbers, not {what}")
    return plain


def _frame(header: Mapping[str, Any], data: bytes, limit: int) -> bytes:
    encoded = json.dumps(header).encode()
    if len(encoded) > limit:
        advice = "return fewer arrays for each instance, or shorter names"
        raise TooLarge(f"the arrays take {len(encoded)} bytes to describe; the limit is {limit}: {advice}")
    return PREFIX.pack(len(encoded) + len(data), len(encoded)) + encoded + data


def _header(encoded: bytes) -> dict[str, Any]:
    try:
        header = json.loads(encoded)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"its header is no JSON: {type(error).__name__}") from error
    if not isinstance(header, dict):
        _refuse("its header is no object")
    return header


def _failure(reason: object, message: object) -> Failure:
    if not isinstance(message, str) or not isinstance(reason, str) or reason not in OWN_REASONS:
        _refuse("its reason is not in the list")
    return Failure(reason, as_message(message))


def _solutions(described: object, data: memoryview, instances: int) -> tuple[Solution, ...]:
    if not isinstance(described, list) or len(described) != instances:
        _refuse(f"it holds other than {instances} solutions")
    layouts = [_layouts(solution) for solution in described]
    if sum(layout.size for solution in layouts for layout in solution) != len(data):
        _refuse("its arrays are not as long as its header says")
    solutions = []
    for solution in layouts:
        named: dict[str, NDArray[Any]] = {}
        for layout in solution:
            named[layout.name] = _array(layout, data[: layout.size])
            data = data[layout.size :]
        solutions.append(named[""] if list(named) == [""] else named)
    return tuple(solutions)


def _layouts(described: object) -> list[_Layout]:
    if not isinstance(described, list) or not described:
        _refuse("a solution has no array")
    layouts = [_layout(*entry) if isinstance(entry, list) and len(entry) == 3 else _refuse("an array is not described")
               for entry in described]  # fmt: skip
    if len({layout.name for layout in layouts}) < len(layouts):
        _refuse("two arrays have one name")
    return layouts


def _layout(name: object, dtype: object, shape: object) -> _Layout:
    if not isinstance(name, str) or len(name) > 100 or not name.isprintable():
        _refuse("an array's name is none")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        _refuse("an array's type is not in the list")
    if not isinstance(shape, list) or len(shape) > DIMENSIONS_LIMIT:
        _refuse("an array's shape is none")
    if any(type(length) is not int or not 0 <= length < 1 << 31 for length in shape):
        _refuse("an array's shape is not made of lengths")
    if 0 in shape and math.prod(length or 1 for length in shape) > EMPTY_LIMIT:
        _refuse("an array is empty and vast")
    return _Layout(name, np.dtype(dtype), tuple(shape))


def _array(layout: _Layout, data: memoryview) -> NDArray[Any]:
    if layout.size == 0:
        return np.zeros(layout.shape, layout.dtype)
    if layout.dtype.kind == "b" and np.frombuffer(data, np.uint8).max() > 1:
        _refuse("a truth value is neither 0 nor 1")  # numpy would let it be both
    return np.frombuffer(data, layout.dtype).reshape(layout.shape)


def _refuse(why: str) -> NoReturn:
    raise FrameError(f"the program's solutions cannot be read: {why}")
