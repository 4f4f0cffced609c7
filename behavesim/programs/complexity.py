"""Bounds on the cost of parsing and compiling a text, found before either is done."""

from __future__ import annotations

import ast
import re

from behavesim.programs.scopes import children

PLAIN_CHARACTERS = 12_000
"""Most characters of a plain program. Steps of Python's that take more than linear time are fast up to this size."""
PLAIN_BRACKETS = 20
"""Most brackets open at once in a plain program."""
_COSTLY = re.compile(r"^[ \t\f]*(?:finally|case)\b", re.MULTILINE)
"""Statements that Python's compiler can copy: a `finally` for each exit, a `case` alternative for each capture."""
_EXIT = ast.Return | ast.Break | ast.Continue
_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def is_plain(code: str) -> bool:
    """Whether a text is surely cheap to parse and compile: less than 100 ms and 50 MB."""
    return len(code) <= PLAIN_CHARACTERS and not may_multiply(code) and _brackets_open(code) <= PLAIN_BRACKETS


def may_multiply(code: str) -> bool:
    """Whether a text has statements that the compiler can copy many times (`finally`, `case`)."""
    return _COSTLY.search(code) is not None


def compiled_size(node: ast.AST) -> int:
    """Return about how many nodes the compiler writes code for, copies included.

    It recurses, so the tree must not be deep (see `parsing.DEEPEST`).
    """
    return _size(node)[0]


def _brackets_open(code: str) -> int:
    """Return the largest number of brackets open at once; brackets in strings and comments count too."""
    opened = most = 0
    for bracket in re.sub(r"[^()\[\]{}]+", "", code):
        if bracket in "([{":
            opened += 1
            most = max(most, opened)
        else:
            opened = max(0, opened - 1)
    return most


def _size(node: ast.AST) -> tuple[int, int]:
    """Return the size of a node's code, and its number of `return`, `break` and `continue`, both with copies."""
    final = frozenset(getattr(node, "finalbody", ()))
    last = [_size(each) for each in final]  # only once: twice at each level would take time 2**depth
    parts = [*last, *(_size(child) for child in children(node) if child not in final)]
    size, exits = 1 + sum(part for part, _ in parts), sum(part for _, part in parts)
    match node:
        case ast.Try() | ast.TryStar() if last:
            last_size, last_exits = sum(part for part, _ in last), sum(part for _, part in last)
            copies = 1 + exits - last_exits  # beside the one counted: one for exceptions, one for each exit
            return size + copies * last_size, exits + copies * last_exits
        case ast.MatchOr(patterns=patterns):
            captures = sum(isinstance(each, ast.MatchAs | ast.MatchStar) for each in ast.walk(node))
            return size + captures * captures // len(patterns), exits
    if isinstance(node, _SCOPE):
        return size, 0
    return size, exits + isinstance(node, _EXIT)
