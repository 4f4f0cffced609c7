"""A candidate's program in its own process: made a function, and named where it fails."""

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
MODULE = "candidate"
REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.EROFS, errno.EFBIG})
"""How the kernel says no to what the layers forbid."""
NO_THREAD = frozenset({"can't start new thread", os.strerror(errno.EPERM), os.strerror(errno.EAGAIN)})
"""How Python says it, and how C++ does, where a thread was wanted."""


def function_of(source: str, entry_point: str) -> Callable[..., Any]:
    """The candidate's function, from a module of its own (dataclasses and numba look their module up)."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(keepends=True), FILENAME)
    code = compile(
        source, FILENAME, "exec", dont_inherit=True, optimize=0
    )  # our `from __future__` imports are not the program's
    exec(code, module.__dict__)
    function = module.__dict__.get(entry_point)
    if not callable(function):
        raise NameError(f"the program defines no function {entry_point!r}")
    return function  # type: ignore[no-any-return]


def why(error: BaseException) -> tuple[str, str]:
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
