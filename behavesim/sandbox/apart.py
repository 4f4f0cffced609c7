"""A program apart from the instances: one process has the task and asks, another has the program and answers.

The program's process is forked from a zygote that never loaded the task. It receives the program, and after that the
arguments of one call at a time. So an answer can depend on what was asked so far, and on nothing else of an instance.

Questions are pickles, which only trusted code writes. Answers are numbers under a short header, see `frames`.
"""

from __future__ import annotations

import os
import pickle
import random
import struct
from collections.abc import Callable
from typing import Any

from behavesim.sandbox.frames import ANSWER, FrameError, answer_size, decode_answer, encode_answer, encode_failed_answer
from behavesim.sandbox.program import function_of, why
from behavesim.state.verdict import Failure

SOURCE_PREFIX = struct.Struct("<I")
QUESTION_PREFIX = struct.Struct("<Q")
PLAIN = "call it with numbers, arrays and plain containers of them"
_CHUNK = 1 << 16


class Unanswered(Exception):
    """A program apart gave no answer; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Remote:
    """Stands in for a program's function: each call is answered by the process at the other end of a socket."""

    def __init__(self, fd: int, source: str, limit: int) -> None:
        self._fd = fd
        self._limit = limit
        send(fd, as_sent(source))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The answer as an array, or a plain number for one without dimensions; raises Unanswered if there is none."""
        try:
            send(self._fd, question(arguments, named))
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
    """Answer questions with a program until there are no more; this process is the program's.

    What a call raises is the answer to it, so that a task's `solve` may go on. What ends a process ends this too.
    """
    random.seed(0)  # again: a hook of the standard library seeds it by entropy in each fork
    try:
        function = function_of(source, entry_point)
        while (asked := _question(fd)) is not None:
            send(fd, _answer(function, *asked, limit))
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        send(fd, encode_failed_answer(*why(error)))


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], limit: int) -> bytes:
    try:
        return encode_answer(function(*arguments, **named), limit)
    except Exception as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failed_answer(*why(error))


def question(arguments: tuple[Any, ...], named: dict[str, Any] | None = None) -> bytes:
    """One call's arguments as they are sent; raises TypeError and the like for what no pickle can hold."""
    pickled = pickle.dumps((arguments, named or {}), protocol=5)
    return QUESTION_PREFIX.pack(len(pickled)) + pickled


def as_sent(source: str) -> bytes:
    """A program as it is sent."""
    encoded = source.encode(errors="replace")
    return SOURCE_PREFIX.pack(len(encoded)) + encoded


def receive(fd: int) -> str:
    """The program that the trusted process sends; raises EOFError where that went away."""
    (size,) = SOURCE_PREFIX.unpack(_exactly(fd, SOURCE_PREFIX.size))
    return _exactly(fd, size).decode()


def send(fd: int, frame: bytes) -> None:
    """Write the whole frame (by write, since a socket's own send is a forbidden call)."""
    written = os.write(fd, frame)
    if written < len(frame):
        rest = memoryview(frame)[written:]
        while rest:
            rest = rest[os.write(fd, rest) :]


def _question(fd: int) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of the next call; None where nobody asks any more.

    Raises FrameError where they are of a class that this process cannot know, such as one of the task's file.
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
        raise FrameError(f"`solve` calls the function with {what}; {PLAIN}") from error
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
    """The data with what follows until it is so long, or more where more has come.

    Raises ConnectionError where the other end was closed before.
    """
    while len(data) < size:
        chunk = os.read(fd, max(_CHUNK, size - len(data)))
        if not chunk:
            raise ConnectionError("the other process ended")
        data += chunk
    return data
