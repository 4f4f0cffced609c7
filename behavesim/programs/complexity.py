"""Estimates what it costs to parse and to compile a program, before Python does either."""

from __future__ import annotations

import ast
import re
from itertools import accumulate

from behavesim.programs.scopes import children

PLAIN_CHARACTERS = 12_000
"""Most characters of a program that `is_plain`: up to this size all steps of Python's compiler are fast."""
PLAIN_BRACKETS = 20
"""Most brackets open at once in a program that `is_plain`: deep nesting can make Python's parser slow."""
_COSTLY = re.compile(r"^[ \t\f]*(?:finally|case)\b", re.MULTILINE)
"""Statements that Python's compiler can copy: a `finally` for each exit, a `case` alternative for each capture."""
_EXIT = ast.Return | ast.Break | ast.Continue
_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def is_plain(code: str) -> bool:
    """Whether a text surely takes less than 100 ms and 50 MB to parse and compile; False means that this is not known.

    It must have at most PLAIN_CHARACTERS characters, no `finally` or `case`, and at most PLAIN_BRACKETS open brackets.
    It need not be Python.
    """
    return len(code) <= PLAIN_CHARACTERS and not may_multiply(code) and _brackets_open(code) <= PLAIN_BRACKETS


def may_multiply(code: str) -> bool:
    """Whether any line of a text begins with `finally` or `case`, statements that the compiler may copy many times."""
    return _COSTLY.search(code) is not None


def compiled_size(node: ast.AST) -> int:
    """Return about how many nodes of a syntax tree the compiler writes code for, copies included.

    It recurses, so the tree must not be deep (see `parsing.DEEPEST`).
    """
    return _size(node)[0]


def _brackets_open(code: str) -> int:
    """Return the largest number of brackets open at once; brackets in strings and comments count too."""
    steps = (1 if bracket in "([{" else -1 for bracket in re.findall(r"[()\[\]{}]", code))
    return max(accumulate(steps, lambda opened, step: max(0, opened + step), initial=0))


def _size(node: ast.AST) -> tuple[int, int]:
    """Return two counts, with copies: a node's nodes, and its `return`, `break` and `continue` (0 for a function)."""
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
