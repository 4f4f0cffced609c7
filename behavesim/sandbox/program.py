"""Turns a candidate's source into a function, in its own process, and describes how it fails."""

from __future__ import annotations

import errno
import linecache
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from behavesim.sandbox.frames import FrameError, TooLarge, as_message
from behavesim.task import InvalidSolution

FILENAME = "<candidate>"
"""The program's file name in tracebacks."""
MODULE = "candidate"
"""The program's module name."""
REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.EROFS, errno.EFBIG})
"""The kernel's error numbers for what the sandbox forbids."""
NO_THREAD = frozenset({"can't start new thread", os.strerror(errno.EPERM), os.strerror(errno.EAGAIN)})
"""Messages of the RuntimeError for a thread that could not start, from Python and from C++ libraries."""


def function_of(source: str, entry_point: str) -> Callable[..., Any]:
    """Run the program as the module MODULE, in place of an earlier program, and return its function `entry_point`.

    Raises NameError if the program binds nothing callable to that name, SyntaxError if it cannot be compiled, and
    whatever it raises when it runs.
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
    """Return the reason of a failure, one of OWN_REASONS of `frames`, and a message for people.

    The program, or the task's `solve` around it, raised `error`. For most errors the message is the error's type and
    text, and the last line of the program in the traceback. If there is none, it names the file and line of `solve`.
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
            return "forbidden", f"{_last_line(error)}; a program has one thread"
        case OSError() if error.errno in REFUSED:
            return "forbidden", _last_line(error)
        case _:
            return "exception", _last_line(error)


def _last_line(error: BaseException) -> str:
    """Return an error's type and text, with the program's last line in the traceback, or else that of `solve`."""
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
