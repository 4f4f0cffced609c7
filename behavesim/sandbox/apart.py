"""Runs a program apart from the instances: one process has the task and asks, another has the program and answers.

The program's process is forked from a zygote that never loaded the task. It receives the program, then the arguments of
one call at a time. So an answer can depend on the calls so far, and on nothing else of an instance.

Questions are pickles, which only trusted code writes. Answers are arrays of numbers under a short header; see `frames`.
"""

from __future__ import annotations

import os
import pickle
import random
import struct
from collections.abc import Callable
from typing import Any

from behavesim.sandbox.frames import ANSWER, FrameError, answer_size, decode_answer, encode_answer, encode_failed_answer
from behavesim.sandbox.program import function_of, reason_and_message
from behavesim.state.verdict import Failure

SOURCE_PREFIX = struct.Struct("<I")
"""The length of the source that follows, in bytes."""
QUESTION_PREFIX = struct.Struct("<Q")
"""The length of the pickle that follows, in bytes."""
ADVICE = "call it with numbers, arrays and plain containers of them"
"""The end of a message about arguments that cannot be sent to a program apart."""
_CHUNK = 1 << 16


class Unanswered(Exception):
    """Raised if a program apart gives no answer; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Remote:
    """Replaces a program's function: the process at the other end of the socket `fd` answers each call."""

    def __init__(self, fd: int, source: str, limit: int) -> None:
        """Send the program to the other process. An answer may have `limit` bytes."""
        self._fd = fd
        self._limit = limit
        send(fd, encode_source(source))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the answer: an array, or a Python number if it has no dimensions.

        Raises Unanswered if the program fails, its process ends or its answer cannot be read. Raises what pickle raises
        (TypeError, PicklingError, …) if an argument cannot be sent.
        """
        try:
            send(self._fd, encode_question(arguments, named))
            answer = decode_answer(self._answer())
        except OSError:
            raise Unanswered(Failure("exit", "the program ended its process itself")) from None
        except FrameError as error:
            raise Unanswered(Failure("output", str(error))) from error
        if isinstance(answer, Failure):
            raise Unanswered(answer)
        return answer if answer.ndim else answer.item()

    def _answer(self) -> bytes:
        data = _more(self._fd, b"", ANSWER.size)
        size = answer_size(data, self._limit)
        data = _more(self._fd, data, size)
        if len(data) > size:
            raise FrameError("more than one answer came to one question")
        return data


def answer_questions(fd: int, source: str, entry_point: str, limit: int) -> None:
    """Answer calls of a program's function until the other end of the socket closes.

    An answer may have `limit` bytes; a larger one is sent as a failure. An exception of a call is sent as its answer:
    a task's `solve` may go on. If the program cannot be loaded, or raises SystemExit or KeyboardInterrupt, that
    failure is the last answer.
    """
    random.seed(0)  # after each fork the standard library seeds it by entropy
    try:
        function = function_of(source, entry_point)
        while (asked := _question(fd)) is not None:
            send(fd, _answer(function, *asked, limit))
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        send(fd, encode_failed_answer(*reason_and_message(error)))


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], limit: int) -> bytes:
    try:
        return encode_answer(function(*arguments, **named), limit)
    except Exception as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failed_answer(*reason_and_message(error))


def encode_question(arguments: tuple[Any, ...], named: dict[str, Any] | None = None) -> bytes:
    """Return the bytes that send one call's arguments, positional and `named`.

    Raises what pickle raises for objects it cannot hold: PicklingError, TypeError, AttributeError or RecursionError.
    """
    pickled = pickle.dumps((arguments, named or {}), protocol=5)
    return QUESTION_PREFIX.pack(len(pickled)) + pickled


def encode_source(source: str) -> bytes:
    """Return the bytes that send a program; characters that UTF-8 cannot encode become question marks."""
    encoded = source.encode(errors="replace")
    return SOURCE_PREFIX.pack(len(encoded)) + encoded


def receive_source(fd: int) -> str:
    """Return the program that arrives at the socket; raises EOFError if the sender closes it before the end."""
    (size,) = SOURCE_PREFIX.unpack(_exactly(fd, SOURCE_PREFIX.size))
    return _exactly(fd, size).decode()


def send(fd: int, frame: bytes) -> None:
    """Write the whole frame to a socket; raises OSError if the other end is closed.

    It uses write(2), since the seccomp filter forbids send(2).
    """
    written = os.write(fd, frame)
    if written < len(frame):
        rest = memoryview(frame)[written:]
        while rest:
            rest = rest[os.write(fd, rest) :]


def _question(fd: int) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the next call's positional and named arguments; None if the other end is closed.

    Raises FrameError if they contain an object whose class only the task's file defines.
    """
    try:
        data = _more(fd, b"", QUESTION_PREFIX.size)
        (size,) = QUESTION_PREFIX.unpack_from(data)
        data = _more(fd, data, QUESTION_PREFIX.size + size)
    except ConnectionError:
        return None
    try:
        asked: tuple[tuple[Any, ...], dict[str, Any]] = pickle.loads(memoryview(data)[QUESTION_PREFIX.size :])
    except (ImportError, AttributeError) as error:
        what = f"what only the task's file knows ({error})"
        raise FrameError(f"`solve` calls the function with {what}; {ADVICE}") from error
    return asked


def _exactly(fd: int, size: int) -> bytes:
    data = os.read(fd, size)
    while len(data) < size:
        chunk = os.read(fd, size - len(data))
        if not chunk:
            raise EOFError("the trusted process went away")
        data += chunk
    return data


def _more(fd: int, data: bytes, size: int) -> bytes:
    """Return `data` and what follows it, at least `size` bytes in all; it is longer if more bytes have arrived.

    Raises ConnectionError if the other end closes before that.
    """
    while len(data) < size:
        chunk = os.read(fd, max(_CHUNK, size - len(data)))
        if not chunk:
            raise ConnectionError("the other process ended")
        data += chunk
    return data
