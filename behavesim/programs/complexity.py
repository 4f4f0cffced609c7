"""How much it costs to parse and compile a text: bounds that are found before that is done."""

from __future__ import annotations

import ast
import re

from behavesim.programs.scopes import children

PLAIN_CHARACTERS = 12_000
"""Characters of a plain program. What Python does in more than linear time is still fast for so many."""
PLAIN_BRACKETS = 20
"""Brackets open at once in a plain program."""
_COSTLY = re.compile(r"^[ \t\f]*(?:finally|case)\b", re.MULTILINE)
"""The statements that Python's compiler can multiply: a `finally` for each exit, an alternative for each capture."""
_EXIT = ast.Return | ast.Break | ast.Continue
_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def is_plain(code: str) -> bool:
    """Whether a text is cheap to parse and to compile, whatever stands in it: below 100 ms and 50 MB."""
    return len(code) <= PLAIN_CHARACTERS and not may_multiply(code) and _brackets_open(code) <= PLAIN_BRACKETS


def may_multiply(code: str) -> bool:
    """Whether a text has statements that compiling can multiply."""
    return _COSTLY.search(code) is not None


def compiled_size(node: ast.AST) -> int:
    """About how many nodes the compiler writes code for, copies included. The tree must not be deep."""
    return _size(node)[0]


def _brackets_open(code: str) -> int:
    """The most brackets that are open at once; those in strings and comments count too."""
    opened = most = 0
    for bracket in re.sub(r"[^()\[\]{}]+", "", code):
        if bracket in "([{":
            opened += 1
            most = max(most, opened)
        else:
            opened = max(0, opened - 1)
    return most


def _size(node: ast.AST) -> tuple[int, int]:
    """The size of a node's code, and the `return`, `break` and `continue` in it, copies included."""
    final = frozenset(getattr(node, "finalbody", ()))
    last = [_size(each) for each in final]  # measured once: looking again at each depth would take 2**depth looks
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
