"""Whether a program has numbers that could be other ones."""

from __future__ import annotations

import ast

from behavesim.base.syntax import parsed

PLAIN = frozenset({0, 1, 2})
"""Numbers that hardly ever stand for a choice: first elements, steps of one, halves and squares."""


def has_constants(source: str) -> bool:
    """Return whether a Python program has a real number other than those in PLAIN; True for text that is no Python."""
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    numbers = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return any(isinstance(number, int | float) and number not in PLAIN for number in numbers)
