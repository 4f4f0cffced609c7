"""Runs a program in the candidate's own process: on every instance, or apart from the instances, one call at a time.

For a program apart, one process has the task and asks, another has the program and answers. The program's process is
forked from a zygote that never loaded the task. So an answer can depend on the calls so far, and on nothing else of an
instance. Questions are pickles, which only trusted code writes. Answers are arrays of numbers; see `frames`.

Programs of a stateless task run apart, too, and must keep nothing between calls. The process that asks draws some of
their calls at random, and repeats them at the end in a few fresh processes. No two calls in one are on one instance.
"""

from __future__ import annotations

import contextlib
import errno
import linecache
import math
import os
import pickle
import random
import sys
import time
import types
from collections.abc import Callable, Sequence
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
from behavesim.sandbox.messages import SIZE, encode_source, receive, receive_message, send
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


# The end of a message about arguments that cannot be sent to a program apart.
ADVICE = "call it with numbers, arrays and plain containers of them"
# The question after which a process that answers ends.
NO_MORE = SIZE.pack(0)
# Arrays that are sent once, by number.
Shared = dict[int, NDArray[Any]]


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
        self._shared: Shared = {}
        send(fd, encode_source(source))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the answer: an array, or a Python number if it has no dimensions.

        A read-only array that the call before was given, too, is not sent again. Raises Unanswered if the program
        fails, its process ends or its answer cannot be read, and what pickle raises if an argument cannot be sent.
        """
        try:
            question, self._shared = encode_question(arguments, named, self._shared)
            send(self._fd, question)
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

    def end(self) -> None:
        """Have the process end."""
        with contextlib.suppress(OSError):
            send(self._fd, NO_MORE)


def encode_question(
    arguments: tuple[Any, ...], named: dict[str, Any] | None = None, sent: Shared | None = None
) -> tuple[bytes, Shared]:
    """Return the bytes of one call, a SIZE and a pickle, and its read-only arrays; `sent` has those of the last call.

    Raises what pickle raises for objects that it cannot hold: PicklingError, TypeError, AttributeError, RecursionError.
    """
    # a matrix of distances takes a hundred times as long to send as all else; `sent` keeps its number from other use
    shared = {id(each): each for each in arguments if type(each) is np.ndarray and not each.flags.writeable}
    places = {place: id(each) for place, each in enumerate(arguments) if id(each) in shared}
    new = {number: each for number, each in shared.items() if number not in (sent or ())}
    own = tuple(None if place in places else each for place, each in enumerate(arguments))
    pickled = pickle.dumps((own, named or {}, places, new), protocol=5)
    return SIZE.pack(len(pickled)) + pickled, shared


def serve_calls(entry_point: str, limit: int, source: str, progress: Progress, fd: int) -> None:
    """Answer calls of the function `entry_point` of a program until NO_MORE comes or the socket `fd` is closed.

    `progress` notes the calls, and how long each was awaited. An answer's array may have `limit` bytes.
    """
    # An Exception of a call is its answer, and the next call is awaited. What ends the program is the last answer: that
    # it or a call's arguments cannot be loaded, SystemExit, and KeyboardInterrupt.
    try:
        function = progress.counted(function_of(source, entry_point))
        shared: Shared = {}
        while data := _next_question(fd, progress):
            arguments, named, shared = _decode_question(data, shared)
            if not _is_sent(fd, _answer_to(function, arguments, named, limit)):
                return
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        _is_sent(fd, encode_failed_answer(*reason_and_message(error)))


def _is_sent(fd: int, answer: bytes) -> bool:
    """Send an answer; False if nobody waits for it any more."""
    # The process that asked was stopped, perhaps since the machine was busy. How it ended says what follows. If this
    # one failed for it, the program would be blamed: it would have "called os._exit" or kept state.
    try:
        send(fd, answer)
    except ConnectionError:
        return False
    return True


def _next_question(fd: int, progress: Progress) -> bytes | bytearray:
    """Return the bytes of the next question, b"" if there is none; `progress` notes the time of waiting."""
    began_ns = time.monotonic_ns()
    try:
        data = receive_message(fd)
    except ConnectionError:
        return b""
    progress.idle(began_ns)
    return data


def _decode_question(data: bytes | bytearray, known: Shared) -> tuple[tuple[Any, ...], dict[str, Any], Shared]:
    """Return a call's arguments, and those of its arrays that the next call may refer to; `known` are the last such.

    Raises FrameError if they contain an object whose class cannot be imported here, such as one of the task's file.
    """
    try:
        own, named, places, new = pickle.loads(data)
    except (ImportError, AttributeError) as error:
        what = f"what only the task's file knows ({error})"
        raise FrameError(f"`solve` calls the function with {what}; {ADVICE}") from error
    shared = {number: new[number] if number in new else known[number] for number in places.values()}
    arguments = tuple(shared[places[place]] if place in places else each for place, each in enumerate(own))
    return arguments, named, shared


def _answer_to(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any], limit: int) -> bytes:
    """Call the function, and return the bytes to send for its answer, or for its failure if it raises an Exception."""
    try:
        return encode_answer(function(*arguments, **named), limit)
    except Exception as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failed_answer(*reason_and_message(error))


# Most calls of a program that are repeated, over all instances.
#
# Let p be the share of a program's answers, on average over the instances, that depend on more than the arguments. Then
# it passes with probability (1 - p) ** 16 at most: 0.2 for p = 0.1, 1.5e-5 for p = 0.5.
ASKED_AGAIN = 16
# Most calls that one fresh process repeats, each on another instance: what it may keep of them is of no use to it.
#
# A process of its own for each call would cost a program that numba compiles 16 times the 6 s of its compilation.
TOGETHER = 4
# Largest relative difference between two floating-point answers that count as equal: rounding may differ.
TOLERANCE = 1e-9


# Failures of a repeated call that do not show that a program keeps state: the machine may be the cause.
MACHINES_REASONS = ("timeout", "memory")


def failed_again(failure: Failure) -> Failure:
    """Return what the failure of a repeated call says of the program: the same, or `keeps-state`."""
    if failure.reason in MACHINES_REASONS:
        said = "calls were made again in a fresh process, with as much time as all calls had together"
        return replace(failure, message=as_message(f"{said}: {failure.message}"))
    return _keeps_state(f"it fails: {failure.message}")


def _keeps_state(words: str) -> Failure:
    rule = "a program must keep nothing between calls; asked again in a fresh process"
    return Failure("keeps-state", as_message(f"{rule}, {words}"))


def fresh_processes(instances: int) -> int:
    """Return how many fresh processes may repeat calls of a stateless program."""
    return math.ceil(ASKED_AGAIN / max(1, min(TOGETHER, instances)))


@dataclass(frozen=True)
class AnsweredCall:
    """A call that a program answered: `step` is its index among those on the instance with the index `instance`."""

    instance: int
    step: int
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    answer: Any

    def repeat(self, function: Callable[..., Any]) -> None:
        """Make the call again in a fresh process; raises Unanswered if it fails, or is answered otherwise."""
        try:
            again = function(*self.arguments, **self.named)
        except Unanswered as unanswered:
            raise Unanswered(failed_again(unanswered.failure)) from unanswered
        if not _same(np.asarray(self.answer), np.asarray(again)):
            what = f"call {self.step + 1} on instance {self.instance + 1} was answered"
            raise Unanswered(_keeps_state(f"{what} with {again!s:.60}, and first with {self.answer!s:.60}"))


class DrawnCalls:
    """Calls of a program, drawn at random while it runs: at most ASKED_AGAIN, about as many from each instance."""

    def __init__(self, instances: int) -> None:
        self._share = math.ceil(ASKED_AGAIN / max(1, instances))
        self._kept: list[list[AnsweredCall]] = [[] for _ in range(instances)]
        self._draw = random.SystemRandom()  # not from a seed: a program must not know which calls are repeated

    def recorded(self, function: Callable[..., Any], instance: int) -> Callable[..., Any]:
        """Return a function that does the same, and whose calls, on the instance with this index, are drawn from."""
        kept, calls = self._kept[instance], 0

        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            step, calls = calls, calls + 1
            answer = function(*arguments, **named)
            # reservoir sampling: each call is kept with the same probability
            place = step if step < self._share else self._draw.randrange(calls)
            if place < self._share:
                # copies, since `solve` may go on changing them; but not of large arrays that it cannot change
                fixed = {id(each): each for each in arguments if type(each) is np.ndarray and not each.flags.writeable}
                given = deepcopy(arguments, fixed)
                kept[place : place + 1] = [AnsweredCall(instance, step, given, deepcopy(named), deepcopy(answer))]
            return answer

        return call

    def divided(self, processes: int) -> list[list[AnsweredCall]]:
        """Return the calls to repeat in each of `fresh_processes` processes, in random order."""
        calls = [call for kept in self._kept for call in kept]
        chosen = sorted(self._draw.sample(range(len(calls)), min(ASKED_AGAIN, len(calls))))
        # those on one instance follow each other, and are no more than processes: no two get into one
        groups = [[calls[at] for at in chosen[first::processes]] for first in range(processes)]
        for group in groups:
            self._draw.shuffle(group)
        return groups


def _same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether two answers are equal, except for rounding if both are in floating point; NaN equals NaN."""
    if left.dtype.kind == right.dtype.kind == "f":
        return left.shape == right.shape and bool(np.allclose(left, right, rtol=TOLERANCE, atol=0.0, equal_nan=True))
    return bool(np.array_equal(left, right))


# A task's `solve`: takes a program's function and an instance, returns the solution.
Solve = Callable[[Callable[..., Any], Any], Solution]


@dataclass(frozen=True)
class Work:
    """What every program of a zygote is run with; made once, before the forks."""

    solve: Solve
    entry_point: str  # the name of the program's function
    instances: tuple[Any, ...]
    output_limit: int  # most bytes of all arrays on all instances
    further: tuple[Any, ...] = ()  # instances of races, numbered on from `instances`
    first: int = 0  # the number of the first of `instances`

    def on(self, first: int, count: int) -> Work:
        """Return the work on `count` further instances from number `first` on."""
        begun = len(self.instances)
        instances = self.further[first - begun : first - begun + count]
        return replace(
            self, instances=instances, first=first, output_limit=math.ceil(self.output_limit * count / begun)
        )


# Most CPU time (s) that a zygote spends on running the template once, so that children compile and load less.
FIRST_USE_S = 10.0


def rehearse(template: str, work: Work, limit_s: float) -> None:
    """Run the template on a copy of the first instance before any fork, for at most `limit_s` or FIRST_USE_S."""
    # What Python and numpy compute at first use is then done once, and not again in each child. The result is ignored:
    # if the template fails, its own evaluation reports that later. The alarm mostly comes inside `run_program`, which
    # takes it for the template's failure.
    with contextlib.suppress(TakesTooLong), limit_cpu(min(limit_s, FIRST_USE_S)):
        # a copy, since `solve` may change it
        run_program(template, replace(work, instances=deepcopy(work.instances[:1])), Progress())


def perform(work: Work, source: str, progress: Progress, fd: int, *links: int, first: int = 0, count: int = 0) -> None:
    """Run a program as `run_program` does; write the frame to the socket `fd`. OSError if its other end is closed.

    With a `count`, it runs on that number of further instances from `first` on, in place of those of the split.
    """
    send(fd, run_program(source, work.on(first, count) if count else work, progress, links))


def run_program(source: str, work: Work, progress: Progress, links: Sequence[int] = ()) -> bytes:
    """Run a program on every instance; return the frame of its solutions, one for each, or of its failure.

    `progress` records how far it got. `links` are sockets to processes that run the program and answer its calls: the
    first all, the others those of a stateless program that are repeated. Without links it runs in this process.
    Whatever the program raises, even SystemExit, becomes its failure.
    """
    try:
        limit, remote = work.output_limit, RemoteFunction(links[0], source, work.output_limit) if links else None
        counted = progress.counted(remote or function_of(source, work.entry_point))
        drawn = DrawnCalls(len(work.instances)) if links[1:] else None
        solutions = []
        for number, each in enumerate(work.instances):
            progress.begin(work.first + number + 1)
            solutions.append(_solution(drawn.recorded(counted, number) if drawn else counted, each, work))
        if drawn and remote:
            remote.end()
            _repeat_calls(drawn.divided(len(links) - 1), links[1:], source, limit)
        return encode_solutions(solutions, limit)
    except Unanswered as unanswered:
        return encode_failure(unanswered.failure.reason, unanswered.failure.message)
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failure(*reason_and_message(error))


def _solution(function: Callable[..., Any], instance: Any, work: Work) -> dict[str, NDArray[Any]]:
    """Return an instance's solution as named arrays."""
    # an array of objects passes here; `encode_solutions` refuses it
    solution = work.solve(function, instance)
    try:
        return as_arrays(solution)
    except (TypeError, ValueError) as error:
        raise FrameError(f"a solution must be an array of numbers: {error}") from error


def _repeat_calls(divided: Sequence[Sequence[AnsweredCall]], links: Sequence[int], source: str, limit: int) -> None:
    """Repeat calls, each list in the process at the other end of a link; raises Unanswered as `AnsweredCall.repeat`."""
    for calls, link in zip(divided, links, strict=True):
        if calls:  # a process is forked once the program has been sent to it
            function = RemoteFunction(link, source, limit)
            for call in calls:
                call.repeat(function)
            function.end()
