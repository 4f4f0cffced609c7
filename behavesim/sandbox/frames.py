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
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from behavesim.state.verdict import Failure
from behavesim.task import Solution

PREFIX = struct.Struct("<II")
"""Start of a frame: the bytes that follow it, and the bytes of the header."""
HEADER_LIMIT = 1 << 16
"""Most bytes of a frame's header, apart from what each instance adds."""
HEADER_BYTES_AN_INSTANCE = 256
"""Bytes that each instance adds to the limit: a solution of one array takes about 20 to describe."""
DTYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"})
"""The types of arrays that a frame may hold: little-endian numbers and truth values."""
DIMENSIONS_LIMIT = 8
ANSWER = struct.Struct("<IBB")
"""Start of an answer's frame: the bytes that follow it, the index in ANSWER_TYPES, and the number of dimensions."""
ANSWER_TYPES = [np.dtype(name) for name in sorted(DTYPES)]
FAILED = 255
"""The index in place of a type's where an answer is a failure."""
EMPTY_LIMIT = 1 << 16
"""Largest product of the non-zero dimensions of an empty array.

Empty arrays cost nothing to send, but a huge shape could exhaust memory in a reduction.
"""
MESSAGE_LIMIT = 500
"""Most characters of a failure's message."""
OWN_REASONS = frozenset({"memory", "exit", "output", "invalid-solution", "exception", "forbidden"})
"""The reasons that a candidate's process may give for its failure; trusted code finds timeout, crash and non-finite."""


class FrameError(ValueError):
    """Raised for bytes that are no valid frame, and for a result that a frame cannot hold."""


class TooLarge(FrameError):
    """Raised if arrays, or their descriptions in the header, have more bytes than their limit."""


@dataclass(frozen=True)
class _Layout:
    """One array's entry in a header."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The array's bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def encode_solutions(solutions: Sequence[Mapping[str, NDArray[Any]]], limit: int) -> bytes:
    """Return the frame of the solutions, one for each instance, each a mapping from names to arrays.

    Raises TooLarge if the arrays have more than `limit` bytes or the header is too long. Raises FrameError for arrays
    that `decode` would refuse, such as arrays of objects.
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


def encode_failure(reason: str, message: str) -> bytes:
    """Return the frame of a failure; the message is cut and cleaned by `as_message`."""
    return _frame({"failure": reason, "message": as_message(message)}, b"", HEADER_LIMIT)


def decode(frame: bytes, instances: int) -> tuple[Solution, ...] | Failure:
    """Return what a whole frame holds: one solution for each instance, or a failure.

    `instances` is the number of solutions expected. The bytes may be anything: raises FrameError if they break a rule.
    """
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
    """Return the frame of one answer of a program.

    Raises TooLarge if the array has more than `limit` bytes, FrameError if the answer is no array of plain numbers.
    """
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
    """Return the frame of an answer that is a failure."""
    frame = encode_failure(reason, message)
    return ANSWER.pack(len(frame), FAILED, 0) + frame


def answer_size(start: bytes, limit: int) -> int:
    """Return how many bytes an answer's frame has, by its first bytes; raises FrameError if that exceeds `limit`.

    Failures and dimensions have room beyond the limit, which counts the bytes of an array.
    """
    size, _, _ = ANSWER.unpack_from(start)
    if size > max(limit, HEADER_LIMIT) + 4 * DIMENSIONS_LIMIT:
        _refuse("an answer is too long")
    return ANSWER.size + int(size)


def decode_answer(frame: bytes) -> NDArray[Any] | Failure:
    """Return what an answer's frame holds: a writable array, or a failure.

    The frame must have the size that it says (see `answer_size`). Raises FrameError if its content breaks a rule.
    """
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
    """Return what an answer's frame holds, for bytes that may be anything.

    Raises FrameError if they are not exactly one frame with at most `limit` bytes of arrays, or break another rule.
    """
    if len(frame) < ANSWER.size or len(frame) != answer_size(frame, limit):
        _refuse("one answer was expected")
    return decode_answer(frame)


def as_message(text: str) -> str:
    """Return the first 500 characters, with spaces for those that cannot be printed, such as control characters."""
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
