"""Writes portfolio.py, several programs of a task in one file, and runs them; the file needs behavesim installed."""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import pickle
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from behavesim.base.plugins import python_path
from behavesim.base.text import comment
from behavesim.sandbox.frames import PREFIX, decode, encode_solutions, frame_limit
from behavesim.sandbox.messages import send
from behavesim.sandbox.program import function_of
from behavesim.task import Task, TaskReference, as_arrays
from behavesim.task.verdict import Failure

# Beginning of the names of the built-in tasks' modules, which every installation has.
BUILT_IN = "behavesim_tasks."
# Largest arrays of a solution, in bytes: longer ones are not read.
SOLUTION_BYTES = 1 << 26
# What the process of one program executes.
_MEMBER = "from behavesim.application.portfolio_file import be_member; be_member()"
# What follows the headline of portfolio.py.
_TEXT = '''
import sys

from behavesim.application.portfolio_file import ProgramSet

PROGRAMS = (
{programs})

TASK = {task}

programs = ProgramSet(TASK, PROGRAMS)
task, task_file = programs.task, programs.task_file


def solve(instance, seconds={seconds:g}):
    """Return the best solution (`BestSolution`) of an instance that the programs find within `seconds` in all.

    Raises RuntimeError if no program finds one.
    """
    return programs.solve(instance, seconds)


if __name__ == "__main__":
    for number, instance in enumerate(task.instances(sys.argv[1] if len(sys.argv) > 1 else "search"), 1):
        found = solve(instance)
        print(f"instance {{number}}: {{found.score:g}}, by program {{found.program}}")
'''


def portfolio_file(
    task: Task, reference: str, programs: Mapping[str, str], headline: Sequence[str], seconds: float
) -> str:
    """Return the text of portfolio.py.

    Args:
        task: The programs' task. The text holds its files, unless it is a built-in one.
        reference: The name by which a built-in task is loaded.
        programs: The source of each program by a line about it, in the order in which they run.
        headline: The lines of the comment at the top.
        seconds: The default time limit for one instance.
    """
    modules = dict.fromkeys(kind.__module__ for kind in reversed(type(task).__mro__))  # base classes first
    own = [name for name in modules if name not in ("builtins", "abc") and not name.startswith("behavesim.")]
    files = "".join(f"    {name!r}: {_literal(inspect.getsource(sys.modules[name]))},\n" for name in own)
    is_built_in = own[-1].startswith(BUILT_IN)
    listed = "".join(f"    {comment(line)}\n    {_literal(source)},\n" for line, source in programs.items())
    text = _TEXT.format(programs=listed, task=repr(reference) if is_built_in else f"{{\n{files}}}", seconds=seconds)
    return "\n".join(map(comment, headline)) + f"\n{text}"


def _literal(source: str) -> str:
    """Return a text, with one line feed at its end, as a Python literal that people can read."""
    text = source.strip() + "\n"
    if "\\" in text or "'''" in text:
        return "".join(["(\n", *(f"        {line!r}\n" for line in text.splitlines(keepends=True)), "    )"])
    return f"'''\\\n{text}'''"


@dataclass(frozen=True)
class BestSolution:
    """The best solution of an instance, its score, and the number of the program that found it, counted from 1."""

    solution: Any
    score: float
    program: int


class ProgramSet:
    """Programs of one task that share the time for an instance; the best of their solutions counts."""

    def __init__(self, task: str | Mapping[str, str], programs: Sequence[str]) -> None:
        """`task` is the name of a built-in task, or the sources of the task's files by module, base classes first."""
        self._given, self._programs = task, programs
        self._files = {} if isinstance(task, str) else _load_files(task)
        self.task: Task = TaskReference(task).load() if isinstance(task, str) else [*self._files.values()][-1].task
        self.task_file = self._files.get(type(self.task).__module__) or sys.modules[type(self.task).__module__]

    def solve(self, instance: Any, seconds: float) -> BestSolution:
        """Run the programs one after another, and return the best solution by the task's own score; ties: the first.

        Each gets an equal share of the time that is left. Raises RuntimeError if none finds a valid solution.
        """
        ends = time.monotonic() + seconds
        best: BestSolution | None = None
        with _in_place(self._files):  # an instance may be of a class in these files, which pickle looks up by name
            question = pickle.dumps(instance)
        for number, program in enumerate(self._programs):
            share = max((ends - time.monotonic()) / (len(self._programs) - number), 0.0)
            order = pickle.dumps((self._given, program, math.ceil(share) + 1, question))
            solution = _solution(order, share)
            score = None if solution is None else _score(self.task, instance, solution)
            utility = self.task.objective.utility
            if score is not None and (best is None or utility(score) > utility(best.score)):
                best = BestSolution(solution, score, number + 1)
        if best is None:
            count = len(self._programs)
            raise RuntimeError(f"none of {count} programs found a solution in {seconds:g} s; give them more time")
        return best


def be_member() -> None:
    """Solve the instance on standard input with the program there, and write the solution to standard output.

    Nothing, or an incomplete solution, is written if the program fails; what it prints is discarded.
    """
    task, program, cpu_s, question = pickle.load(sys.stdin.buffer)
    programs = ProgramSet(task, ())
    instance = pickle.loads(question)
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the program prints must not mix with its solution
    # A program that kills its parent kills this process, and not the one of the person who called `solve`.
    if child := os.fork():
        os.close(answer)  # else the reader would wait for this end, too, after the program is gone
        os.waitpid(child, 0)
        return
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))  # it also ends a program that left the process group
    random.seed(0)  # the same seed as in the search, so that random programs behave as they did there
    np.random.seed(0)
    solution = programs.task.solve(function_of(program, programs.task.entry_point), instance)
    send(answer, encode_solutions([as_arrays(solution)], SOLUTION_BYTES))


def _load_files(sources: Mapping[str, str]) -> dict[str, ModuleType]:
    """Execute the task's files in order, and return their modules by name; known modules keep their names."""
    files = {name: ModuleType(name) for name in sources}
    with _in_place(files):
        for name, file in files.items():
            # optimize=0 keeps asserts, on which a task's checks may rely, whatever PYTHONOPTIMIZE says
            exec(compile(sources[name], f"<{name}>", "exec", dont_inherit=True, optimize=0), vars(file))
    for name, file in files.items():
        sys.modules.setdefault(name, file)
    return files


@contextlib.contextmanager
def _in_place(files: Mapping[str, ModuleType]) -> Iterator[None]:
    """Let these modules stand in `sys.modules` during the block, in place of others of the same names."""
    before = {name: sys.modules[name] for name in files if name in sys.modules}
    sys.modules.update(files)
    try:
        yield
    finally:
        for name in files:
            del sys.modules[name]
        sys.modules.update(before)


def _score(task: Task, instance: Any, solution: Any) -> float | None:
    """Return the score of a solution; None if that is not a finite number, or if the task's `score` raises."""
    try:
        found = task.score(instance, solution)
        score = float(getattr(found, "value", found))
    except Exception:  # noqa: BLE001 (an error of `score` means that the program's solution is not valid)
        return None
    return score if math.isfinite(score) else None


def _solution(order: bytes, seconds: float) -> Any | None:
    """Run a program's process on an order; return its solution, None if it takes too long or sends no valid one."""
    with tempfile.TemporaryFile() as given:
        given.write(order)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _MEMBER],
            stdin=given,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": python_path()},
            start_new_session=True,  # a process group of its own, so that its children can be killed with it
        )
    assert process.stdout is not None, "it is a pipe"
    try:
        found = decode(_read(process.stdout.fileno(), time.monotonic() + seconds), 1)
    except (ValueError, TimeoutError):
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    return None if isinstance(found, Failure) else found[0]


def _read(fd: int, ends: float) -> bytes:
    """Read one frame from a file descriptor; `ends` is the deadline in seconds of the monotonic clock."""
    data, size = bytearray(), PREFIX.size
    while len(data) < size:
        if not select.select([fd], [], [], max(0.0, ends - time.monotonic()))[0]:
            raise TimeoutError
        chunk = os.read(fd, min(1 << 20, size - len(data)))
        if not chunk:
            raise ValueError("it ended before its answer was whole")
        data += chunk
        if len(data) == PREFIX.size == size:
            size += PREFIX.unpack(data)[0]
            if size > frame_limit(1, SOLUTION_BYTES):
                raise ValueError("it is too long")
    return bytes(data)
