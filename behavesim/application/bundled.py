"""Runs several programs on an instance and keeps the best solution.

This file's text is part of every portfolio.py, so it imports nothing of behavesim.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

# First command-line argument of portfolio.py where it runs as the process of one program.
MEMBER = "--member"
# Beginning of an encoded solution: the lengths in bytes of its header and of its arrays, 32-bit little-endian.
PREFIX = struct.Struct("<II")
HEADER_BYTES, SOLUTION_BYTES = 1 << 16, 1 << 26
"""Largest header (64 KiB) and largest arrays (64 MiB) of a solution, in bytes: longer ones are not read."""
# Types of arrays that are decoded: plain numbers and booleans, which cannot execute anything.
TYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
# Module of the checks of answers that tasks import from `behavesim.task`; portfolio.py has its source.
ANSWERS = "behavesim.task.answers"
# Modules of behavesim from which tasks and ANSWERS import; `files_of` puts the classes below in their place.
BEHAVESIM = ("behavesim", "behavesim.task", "behavesim.task.task", ANSWERS, "behavesim.trajectory")


class InvalidSolution(ValueError):
    """Raised by a task's code for a solution that breaks its rules; replaces `behavesim.task.InvalidSolution`."""


class Objective:
    """Which scores are better ("minimise" or "maximise"), and the best known score; None if there is none.

    It replaces `behavesim.task.Objective`. What else a task says of its scores is for screens, and left out.
    """

    def __init__(self, direction: str, best_known: float | None = None, *_: object, **__: object) -> None:
        self.direction, self.best_known = direction, best_known


class Task:
    """Base class of tasks in place of `behavesim.task.Task`, without its methods, since nothing here calls them."""


class _UnusedNames(type):
    """The type of `Unused`: each of its attributes is `Unused` again, as a task may name the members of a module."""

    def __getattr__(cls, name: str) -> type[Unused]:
        return _unused(name)


class Unused(metaclass=_UnusedNames):
    """Stands in for all else that tasks import from behavesim or beside its tasks, such as what only a search calls."""


@dataclass(frozen=True)
class BestSolution:
    """The best solution of an instance, its score, and the number of the program that found it, counted from 1."""

    solution: Any
    score: float
    program: int


def files_of(modules: Mapping[str, str]) -> dict[str, types.ModuleType]:
    """Execute the task's files, given as sources by module name, in that order; return their modules by name.

    The first one is ANSWERS, which is not returned: `behavesim.task` gets its functions. The classes above replace what
    else the files import from behavesim. `sys.modules` is as before afterwards, except for the files' own modules and
    packages that were not there. Raises whatever a file raises, and leaves `sys.modules` changed then.
    """
    known = {"InvalidSolution": InvalidSolution, "Objective": Objective, "Task": Task, "__getattr__": _unused}
    before = dict(sys.modules)
    files = {}
    for name in BEHAVESIM:
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(known)
    for name, source in modules.items():
        files[name] = file = types.ModuleType(name)
        file.__package__ = name.rpartition(".")[0]
        package = sys.modules.setdefault(file.__package__, types.ModuleType(file.__package__))
        vars(package).setdefault("__getattr__", _unused)
        sys.modules[name] = file
        # optimize=0 keeps asserts, on which a task's checks may rely, whatever PYTHONOPTIMIZE says
        exec(compile(source, f"<{name}>", "exec", dont_inherit=True, optimize=0), vars(file))
        if name == ANSWERS:
            checks = vars(files.pop(name)).items()
            vars(sys.modules["behavesim.task"]).update({key: each for key, each in checks if not key.startswith("_")})
    for name in BEHAVESIM:
        del sys.modules[name]
    sys.modules.update(before)  # behavesim itself, if the caller had imported it
    return files


def _unused(name: str) -> type[Unused]:
    """Return `Unused` for any name that a module lacks; raises AttributeError for Python's own, such as `__path__`."""
    if name.startswith("__"):
        raise AttributeError(name)
    return Unused


def best_of(
    place: str, programs: int, files: Mapping[str, types.ModuleType], task: Any, instance: Any, seconds: float
) -> BestSolution:
    """Run the programs one after another, each in its own processes, and return the best solution; ties: the first.

    `place` is the path of portfolio.py, which has this number of `programs`. `files` are the modules of the task's
    files. Each program gets an equal share of the time that is left of `seconds`, for all programs together. Raises
    RuntimeError if no program finds a valid solution.
    """
    sign = 1 if task.objective.direction.startswith("maxim") else -1
    ends = time.monotonic() + seconds
    best: BestSolution | None = None
    with tempfile.TemporaryFile() as question:
        question.write(_pickled(instance, files))
        for number in range(programs):
            share = (ends - time.monotonic()) / (programs - number)
            question.seek(0)  # the programs' processes share the file's position
            solution = _solution([place, MEMBER, str(number), str(math.ceil(max(share, 0.0)) + 1)], question, share)
            score = None if solution is None else _score(task, instance, solution)
            if score is not None and (best is None or sign * score > sign * best.score):
                best = BestSolution(solution, score, number + 1)
    if best is None:
        raise RuntimeError(f"none of {programs} programs found a solution in {seconds:g} s; give them more time")
    return best


def be_member(program: str, entry_point: str, task: Any, cpu_s: int) -> None:
    """Solve the pickled instance on standard input with a program, and write its solution to standard output.

    `program` is its source, and `entry_point` the name of its function. It runs in a child process: if it kills its
    parent, it kills this process and not the caller's. Its CPU time is limited to `cpu_s` seconds. What it prints is
    discarded. Nothing, or an incomplete solution, is written if the program fails.
    """
    instance = pickle.load(sys.stdin.buffer)
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the program prints must not mix with its solution
    if (child := os.fork()) == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))  # it also ends a program that left the process group
        _answer(answer, program, entry_point, task, instance)
    else:
        os.close(answer)
        os.waitpid(child, 0)


def _answer(fd: int, program: str, entry_point: str, task: Any, instance: Any) -> None:
    """Run a program on an instance and write its encoded solution to a file descriptor; raises what it raises."""
    random.seed(0)  # the same seed as in the search, so that random programs behave as they did there
    np.random.seed(0)
    module = types.ModuleType("candidate")
    sys.modules["candidate"] = module
    exec(compile(program, "<program>", "exec", dont_inherit=True, optimize=0), vars(module))
    frame = _encoded(task.solve(vars(module)[entry_point], instance))
    with open(fd, "wb") as file:
        file.write(frame)


def _pickled(instance: Any, files: Mapping[str, types.ModuleType]) -> bytes:
    """Return an instance as the bytes that a program's process unpickles."""
    # An instance may be of a class in one of the task's `files`, which pickle looks up by its module's name. If it
    # finds another module there, the files' modules stand in `sys.modules` for a second attempt.
    try:
        return pickle.dumps(instance)
    except pickle.PicklingError:
        before = {name: sys.modules[name] for name in files}
        sys.modules.update(files)
        try:
            return pickle.dumps(instance)
        finally:
            sys.modules.update(before)


def _score(task: Any, instance: Any, solution: Any) -> float | None:
    """Return the score of a solution; None if that is not a finite number, or if the task's `score` raises."""
    try:
        score = float(task.score(instance, solution))
    except Exception:  # noqa: BLE001 (an error of `score` means that the program's solution is not valid)
        return None
    return score if math.isfinite(score) else None


def _solution(command: Sequence[str], question: IO[bytes], seconds: float) -> Any | None:
    """Run a program's process and return its solution; None if it takes too long, fails, or sends no valid solution."""
    # `command` are Python's arguments, `question` is its standard input, and `seconds` its time limit by the clock.
    # Afterwards its process group is killed.
    # the program imports what this process can import; relative paths would mean other folders
    paths = os.pathsep.join(path for path in sys.path if path.startswith(os.sep))
    process = subprocess.Popen(
        [sys.executable, *command],
        stdin=question,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,  # a process group of its own, so that its children can be killed with it
    )
    assert process.stdout is not None, "it is a pipe"
    try:
        return _decoded(_read(process.stdout.fileno(), time.monotonic() + seconds))
    except (ValueError, TimeoutError):
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def _read(fd: int, ends: float) -> bytes:
    """Read one encoded solution from a file descriptor; `ends` is the deadline in seconds of the monotonic clock."""
    data, size = bytearray(), PREFIX.size
    while len(data) < size:
        if not select.select([fd], [], [], max(0.0, ends - time.monotonic()))[0]:
            raise TimeoutError
        chunk = os.read(fd, min(1 << 20, size - len(data)))
        if not chunk:
            raise ValueError("it ended before its answer was whole")
        data += chunk
        if len(data) == PREFIX.size == size:
            header, arrays = PREFIX.unpack(data)
            if header > HEADER_BYTES or arrays > SOLUTION_BYTES:
                raise ValueError("it is too long")
            size += header + arrays
    return bytes(data)


def _encoded(solution: Any) -> bytes:
    """Encode a solution as bytes: `PREFIX`, a JSON header, and the arrays' bytes."""
    # It is an array, or a mapping from names to arrays. The header is [[name, dtype, shape], …]; a lone array has the
    # name "".
    given = solution if isinstance(solution, Mapping) else {"": solution}
    arrays = {str(name): np.ascontiguousarray(array) for name, array in given.items()}
    header = json.dumps([[name, array.dtype.str, np.shape(given[name])] for name, array in arrays.items()]).encode()
    data = b"".join(array.tobytes() for array in arrays.values())
    return PREFIX.pack(len(header), len(data)) + header + data


def _decoded(frame: bytes) -> Any:
    """Decode a solution, an array or a mapping of arrays, without executing anything."""
    size, _ = PREFIX.unpack_from(frame)
    data = memoryview(frame)[PREFIX.size + size :]
    arrays = {}
    try:
        for name, dtype, shape in json.loads(frame[PREFIX.size : PREFIX.size + size]):
            if dtype not in TYPES or any(type(length) is not int or length < 0 for length in shape):
                raise ValueError("it is no array of numbers")
            length = math.prod(shape) * np.dtype(dtype).itemsize
            arrays[name] = np.frombuffer(data[:length], dtype).reshape(shape).copy()
            data = data[length:]
    except (TypeError, RecursionError, OverflowError) as error:
        raise ValueError("it is no solution") from error
    if len(data) or not arrays:
        raise ValueError("its arrays are not as long as it says")
    return arrays[""] if list(arrays) == [""] else arrays
