"""Parses Python source, in one thread at a time."""

from __future__ import annotations

import ast
import threading

_PARSING = threading.RLock()
"""Held while a thread parses; reentrant, since a garbage collection in the middle may run code that parses."""


def parsed(source: str | bytes, filename: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of a module's source; raises what `ast.parse` does, such as SyntaxError.

    Errors name `filename`; no file is read. Threads wait for one another: two at once could get a SystemError for a
    correct program. Some Pythons count the depth of a tree for all threads together (CPython issue 106905).
    """
    with _PARSING:
        return ast.parse(source, filename)
