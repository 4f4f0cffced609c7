"""Runs a program apart from the instances: one process has the task and asks, another has the program and answers.

The program's process is forked from a zygote that never loaded the task. It receives the program, then the arguments of
one call at a time. So an answer can depend on the calls so far, and on nothing else of an instance.

Questions are pickles, which only trusted code writes. Answers are arrays of numbers under a short header; see `frames`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from behavesim.sandbox.frames import ANSWER, FrameError, answer_size, decode_answer, encode_answer, encode_failed_answer
from behavesim.sandbox.program import function_of, reason_and_message
from behavesim.sandbox.progress import Progress
from behavesim.sandbox.wire import Question, encode_question, encode_source, receive, receive_question, send
from behavesim.task.verdict import Failure


class Unanswered(Exception):
    """Raised if a program in another process gives no valid answer; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Remote:
    """Replaces a program's function: the process at the other end of the socket `fd` answers each call.

    Making one sends the program, `source`, there; this raises OSError if the other end is closed. A call raises
    Unanswered if the program fails or its answer's array has more than `limit` bytes.
    """

    def __init__(self, fd: int, source: str, limit: int) -> None:
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
        """Return the bytes of one answer, which `decode_answer` reads.

        Raises FrameError if it is too long, or if other bytes have come behind it; ConnectionError if the other end
        closes.
        """
        data = receive(self._fd, b"", ANSWER.size)
        size = answer_size(data, self._limit)
        data = receive(self._fd, data, size)
        if len(data) > size:
            raise FrameError("more than one answer came to one question")
        return data


def answer_questions(entry_point: str, limit: int, source: str, progress: Progress, fd: int) -> None:
    """Answer calls of the function `entry_point` of a program until the other end of the socket `fd` closes.

    `progress` notes the calls, and how long each was awaited. An answer's array may have `limit` bytes; a larger one is
    sent as a failure. An Exception of a call is sent as its answer, and the next call is awaited. If the program or a
    call's arguments cannot be loaded, or the program raises SystemExit or KeyboardInterrupt, that failure is the last
    answer.
    """
    try:
        function = progress.counted(function_of(source, entry_point))
        while (asked := _asked(fd, progress)) is not None:
            send(fd, _answer(function, *asked, limit))
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        send(fd, encode_failed_answer(*reason_and_message(error)))


def _asked(fd: int, progress: Progress) -> Question | None:
    """Wait for the next call and return its arguments; None if the other end closes first.

    `progress` records the time of waiting. Raises FrameError if the arguments cannot be loaded.
    """
    began_ns = time.monotonic_ns()
    asked = receive_question(fd)
    progress.idle(began_ns)
    return asked


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], limit: int) -> bytes:
    """Call the function, and return the bytes to send for its answer, or for its failure if it raises an Exception."""
    try:
        return encode_answer(function(*arguments, **named), limit)
    except Exception as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failed_answer(*reason_and_message(error))
