"""Runs a program in the candidate's own process: on every instance, or apart from the instances, one call at a time.

For a program apart, one process has the task and asks, another has the program and answers. The program's process is
forked from a zygote that never loaded the task. So an answer can depend on the calls so far, and on nothing else of an
instance. Questions are pickles, which only trusted code writes. Answers are arrays of numbers; see `frames`.
"""

from __future__ import annotations

import contextlib
import errno
import linecache
import os
import sys
import time
import types
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random  # numpy loads it at first use, which would be in each child
from numpy.typing import NDArray

from behavesim.base.plugins import TakesTooLong, limit_cpu
from behavesim.sandbox.forking import Progress
from behavesim.sandbox.frames import (
    ANSWER,
    ANSWERS,
    FrameError,
    TooLarge,
    answer_size,
    as_message,
    decode_answer,
    encode_answer,
    encode_failed_answer,
    encode_failure,
    encode_solutions,
)
from behavesim.sandbox.messages import Question, encode_question, encode_source, receive, receive_question, send
from behavesim.task import InvalidSolution, Solution, as_arrays
from behavesim.task.verdict import Failure

# The program's file name in tracebacks.
FILENAME = "<candidate>"
# The program's module name.
MODULE = "candidate"
# The kernel's error numbers for what the sandbox forbids.
REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.EROFS, errno.EFBIG})
# Messages of the RuntimeError for a thread that could not start, from Python and from C++ libraries.
NO_THREAD = frozenset({"can't start new thread", os.strerror(errno.EPERM), os.strerror(errno.EAGAIN)})


def function_of(source: str, entry_point: str) -> Callable[..., Any]:
    """Run the program as the module MODULE, in place of an earlier program, and return its function `entry_point`.

    Raises NameError if that is nothing callable, SyntaxError, and whatever the program raises when it runs.
    """
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module  # dataclasses and numba look it up there
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(keepends=True), FILENAME)
    # without this file's `from __future__` imports
    code = compile(source, FILENAME, "exec", dont_inherit=True, optimize=0)
    exec(code, module.__dict__)
    function: Callable[..., Any] | None = module.__dict__.get(entry_point)
    if not callable(function):
        raise NameError(f"the program defines no function {entry_point!r}")
    return function


def reason_and_message(error: BaseException) -> tuple[str, str]:
    """Return the reason of a failure, one of `frames.OWN_REASONS`, and a message for people.

    The message has the error's type and text, and the last line of the program in the traceback, or else of `solve`.
    """
    match error:
        case MemoryError():
            return "memory", "the program asked for more memory than its limit"
        case SystemExit():
            return "exit", f"the program called sys.exit({error.code!r})"
        case TooLarge():
            return "output", str(error)
        case InvalidSolution() | FrameError():
            return "invalid-solution", str(error)
        case RuntimeError() if str(error) in NO_THREAD:
            return "forbidden", f"{_error_and_place(error)}; a program has one thread"
        case OSError() if error.errno in REFUSED:
            return "forbidden", _error_and_place(error)
        case _:
            return "exception", _error_and_place(error)


def _error_and_place(error: BaseException) -> str:
    lines = [error.lineno] if isinstance(error, SyntaxError) and error.lineno else []
    at, last = error.__traceback__, ""
    while at is not None:
        if at.tb_frame.f_code.co_filename == FILENAME:
            lines.append(at.tb_lineno)
        if at.tb_frame.f_code.co_name == "solve":
            last = f" ({Path(at.tb_frame.f_code.co_filename).name}, line {at.tb_lineno})"
        at = at.tb_next
    place = f" (line {lines[-1]})" if lines else last
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return as_message(f"{type(error).__name__}: {text}")[: 500 - len(place)] + place


class Unanswered(Exception):
    """Raised if a program in another process gives no valid answer; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class RemoteFunction:
    """Replaces a program's function: the process at the other end of the socket `fd` answers each call.

    Making one sends the program there; this raises OSError if the other end is closed. An answer's array may have
    `limit` bytes.
    """

    def __init__(self, fd: int, source: str, limit: int) -> None:
        self._fd = fd
        self._limit = limit
        send(fd, encode_source(source))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the answer: an array, or a Python number if it has no dimensions.

        Raises Unanswered if the program fails, its process ends or its answer cannot be read, and what pickle raises
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
        data = receive(self._fd, b"", ANSWER.size)
        size = answer_size(data, self._limit)
        data = receive(self._fd, data, size)
        if len(data) > size:
            raise FrameError("more than one answer came to one question")
        return data


def serve_calls(entry_point: str, limit: int, source: str, progress: Progress, fd: int) -> None:
    """Answer calls of the function `entry_point` of a program until the other end of the socket `fd` closes.

    `progress` notes the calls, and how long each was awaited. An answer's array may have `limit` bytes.
    """
    # An Exception of a call is its answer, and the next call is awaited. What ends the program is the last answer: that
    # it or a call's arguments cannot be loaded, SystemExit, and KeyboardInterrupt.
    try:
        function = progress.counted(function_of(source, entry_point))
        while (asked := _next_call(fd, progress)) is not None:
            send(fd, _answer_to(function, *asked, limit))
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        send(fd, encode_failed_answer(*reason_and_message(error)))


def _next_call(fd: int, progress: Progress) -> Question | None:
    # `progress` records the time of waiting.
    began_ns = time.monotonic_ns()
    asked = receive_question(fd)
    progress.idle(began_ns)
    return asked


def _answer_to(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], limit: int) -> bytes:
    """Call the function, and return the bytes to send for its answer, or for its failure if it raises an Exception."""
    try:
        return encode_answer(function(*arguments, **named), limit)
    except Exception as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failed_answer(*reason_and_message(error))


# A task's `solve`: takes a program's function and an instance, returns the solution.
Solve = Callable[[Callable[..., Any], Any], Solution]


@dataclass(frozen=True)
class Work:
    """What every program of a zygote is run with; made once, before the forks."""

    solve: Solve
    entry_point: str  # the name of the program's function
    instances: tuple[Any, ...]
    output_limit: int  # most bytes of all arrays: of the solutions and, if `stateless`, of the function's answers
    stateless: bool = False


def rehearse(template: str, work: Work, timeout_s: float) -> None:
    """Run the template on a copy of the first instance before any fork, for at most `timeout_s` seconds of CPU time."""
    # What Python and numpy compute at first use is then done once, and not again in each child. The result is ignored:
    # if the template fails, its own evaluation reports that later. The alarm mostly comes inside `run_program`, which
    # takes it for the template's failure.
    with contextlib.suppress(TakesTooLong), limit_cpu(timeout_s):
        # a copy, since `solve` may change it
        run_program(template, replace(work, instances=deepcopy(work.instances[:1])), Progress())


def perform(work: Work, source: str, progress: Progress, fd: int, link: int | None = None) -> None:
    """Run a program as `run_program` does; write the frame to the socket `fd`. OSError if its other end is closed."""
    send(fd, run_program(source, work, progress, link))


def run_program(source: str, work: Work, progress: Progress, link: int | None = None) -> bytes:
    """Run a program on every instance; return the frame of its solutions, one for each, or of its failure.

    `progress` records how far it got. `link` is a socket to the process that runs the program and answers its calls;
    None runs it in this process. Whatever the program raises, even SystemExit, becomes its failure.
    """
    try:
        limit = work.output_limit
        function = function_of(source, work.entry_point) if link is None else RemoteFunction(link, source, limit)
        counted = progress.counted(function)
        solutions = []
        for number, each in enumerate(work.instances, 1):
            progress.begin(number)
            solutions.append(_solution(counted, each, work))
        return encode_solutions(solutions, limit)
    except Unanswered as unanswered:
        return encode_failure(unanswered.failure.reason, unanswered.failure.message)
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failure(*reason_and_message(error))


def _solution(function: Callable[..., Any], instance: Any, work: Work) -> dict[str, NDArray[Any]]:
    """Return an instance's solution as named arrays; for a stateless task the answers of all calls are one more."""
    # an array of objects passes here; `encode_solutions` refuses it
    answers: list[NDArray[Any]] = []

    def recorded(*arguments: Any) -> Any:
        answer = function(*arguments)
        answers.append(np.array(answer))  # a copy: the program may go on changing what it returned
        return answer

    solution = work.solve(recorded if work.stateless else function, instance)
    try:
        arrays = as_arrays(solution)
        return as_arrays({**arrays, ANSWERS: answers}) if work.stateless else arrays
    except (TypeError, ValueError) as error:
        raise FrameError(f"a solution must be an array of numbers: {error}") from error
