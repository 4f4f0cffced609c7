"""What happens in a candidate's own process: its program is run on every instance and the solutions are sent."""

from __future__ import annotations

import errno
import linecache
import os
import random
import signal
import struct
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random  # numpy loads it late, which here would be in each child
from numpy.typing import NDArray

from behavesim.sandbox.frames import FrameError, TooLarge, as_message, encode_failure, encode_solutions
from behavesim.sandbox.remains import Solve
from behavesim.sandbox.stateless import ANSWERS, Recorder, asked_again, questions
from behavesim.task import InvalidSolution, as_arrays

SOURCE_PREFIX = struct.Struct("<II")
FILENAME = "<candidate>"
MODULE = "candidate"
REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.EROFS, errno.EFBIG})
"""How the kernel says no to what the layers forbid."""
NO_THREAD = frozenset({"can't start new thread", os.strerror(errno.EPERM), os.strerror(errno.EAGAIN)})
"""How Python says it, and how C++ does, where a thread was wanted."""


@dataclass(frozen=True)
class Work:
    """What every program of a zygote is run on; made before the forks, so that no fork has to."""

    solve: Solve
    entry_point: str
    instances: tuple[Any, ...]
    output_limit: int
    stateless: bool = False


def rehearse(template: str, work: Work, timeout_s: float) -> None:
    """Run the task's own template on the first instance, so that what is computed at first use is there before the
    forks, each of which would compute it again. Whether the template is any good is for the search to find out.

    It may take so many seconds of CPU time; one that never ends is left at it then, and comes to its timeout later."""
    before = signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, timeout_s)
    try:
        outcome(template, replace(work, instances=work.instances[:1]))
    except TimeoutError:  # in the last instant
        return
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def _give_up(*_: object) -> None:
    raise TimeoutError


def outcome(source: str, work: Work, script: bytes = b"") -> bytes:
    """The frame to send: the solutions of the program in `source`, or why there are none.

    With a script, what it answers to the questions of that.
    """
    random.seed(0)  # again: a hook of the standard library seeds it by entropy in each fork
    try:
        if script:
            asked = questions(script, work.solve, work.instances)
            again = asked_again(_function(source, work.entry_point), asked)
            return encode_solutions([_arrays(answers) for answers in again], work.output_limit)
        function = _function(source, work.entry_point)
        solutions = [_solution(function, each, work) for each in work.instances]
        return encode_solutions(solutions, work.output_limit)
    except BaseException as error:  # noqa: BLE001 (a candidate's: whatever it raises is its result)
        return encode_failure(*_why(error))


def receive(fd: int) -> tuple[str, bytes]:
    """The program and its script, as the trusted process sends them."""
    size, script_size = SOURCE_PREFIX.unpack(_read(fd, SOURCE_PREFIX.size))
    return _read(fd, size).decode(), _read(fd, script_size)


def send(fd: int, frame: bytes) -> None:
    """Write the whole frame (by write, since a socket's own send is a forbidden call)."""
    rest = memoryview(frame)
    while rest:
        rest = rest[os.write(fd, rest) :]


def settle_randomness() -> None:
    """Make programs that seed nothing give equal results in every fork of this process, with new generators too."""
    random.Random.seed = _seed_never_by_entropy  # type: ignore[method-assign]
    random.seed = types.MethodType(_seed_never_by_entropy, random.seed.__self__)  # type: ignore[attr-defined]
    np.random.bit_generator.randbits = random.Random(0).getrandbits  # type: ignore[attr-defined]  # of default_rng()
    np.random.seed(0)


_seed = random.Random.seed


def _seed_never_by_entropy(self: random.Random, a: Any = None, version: int = 2) -> None:
    _seed(self, 0 if a is None else a, version)


def _function(source: str, entry_point: str) -> Callable[..., Any]:
    """The candidate's function, from a module of its own (dataclasses and numba look their module up)."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(keepends=True), FILENAME)
    code = compile(source, FILENAME, "exec", dont_inherit=True)  # our `from __future__` imports are not the program's
    exec(code, module.__dict__)
    function = module.__dict__.get(entry_point)
    if not callable(function):
        raise NameError(f"the program defines no function {entry_point!r}")
    return function  # type: ignore[no-any-return]


def _solution(function: Callable[..., Any], instance: Any, work: Work) -> dict[str, NDArray[Any]]:
    """The solution of an instance, with what was answered on the way where that is asked again."""
    if not work.stateless:
        return _arrays(work.solve(function, instance))
    recorder = Recorder(function)
    solution = _arrays(work.solve(recorder, instance))
    return _arrays({**solution, ANSWERS: recorder.answers})


def _arrays(solution: object) -> dict[str, NDArray[Any]]:
    try:
        return as_arrays(solution)
    except (TypeError, ValueError) as error:
        raise FrameError(f"a solution must be an array of numbers: {error}") from error


def _why(error: BaseException) -> tuple[str, str]:
    """The reason and the message for people: the last line of the traceback, with the line in the program."""
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
            return "forbidden", f"{_last_line(error)}; a program has one thread"
        case OSError() if error.errno in REFUSED:
            return "forbidden", _last_line(error)
        case _:
            return "exception", _last_line(error)


def _last_line(error: BaseException) -> str:
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


def _read(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = os.read(fd, size - len(data))
        if not chunk:
            raise EOFError("the trusted process went away")
        data += chunk
    return data
