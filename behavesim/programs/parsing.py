"""Parses a model's code within limits on length, depth and compiled size; the imports that it lacks; its hash."""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
import symtable
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate

from behavesim.base.text import parse

# Most characters of a program, about 800 lines, since prompts show it. A whole text may have more (`WholeForm`).
LONGEST_PROGRAM = 30_000
# Most levels of a syntax tree. Whether Python can compile a deeper tree depends on the depth of its call stack.
DEEPEST = 150
# Most nodes that the compiler may write code for, copies included: this takes about 100 ms and 70 MB. They are counted
# only where a line begins with `finally` or `case`.
LARGEST_PROGRAM = 100_000
# Most characters that are parsed for one reply, in all attempts together; more if programs may be long (`Parser`).
PARSED_AT_MOST = 100_000


class TooLong(SyntaxError):
    """Raised for a program that has more characters than its parser allows."""


class TooComplex(SyntaxError):
    """Raised for a program of a compiled size above LARGEST_PROGRAM, and for a reply that needs too much parsing."""


class NeedsLimits(Exception):
    """A text may be costly to parse, so it must be parsed in a process with limits of time and memory."""


@dataclass(frozen=True)
class Parsed:
    """A program that compiles: its text, its syntax tree, and all names that it reads or assigns, in any scope.

    `names` leaves out a name that a definition, a parameter or an import binds, if nothing reads it. `rest` is the
    syntax error because of which text after the program was dropped; None if nothing was dropped.
    """

    source: str
    tree: ast.Module
    names: frozenset[str]
    rest: SyntaxError | None = None


class Parser:
    """Parses the texts of one reply, until PARSED_AT_MOST characters have been parsed; then it raises TooComplex.

    If `longest` is above LONGEST_PROGRAM, this bound is higher by twice the difference.
    """

    def __init__(self, has_limits: bool, longest: int = LONGEST_PROGRAM) -> None:
        """`has_limits`: this process has limits of time and memory; `longest` is the most characters of a program."""
        self._has_limits, self._longest = has_limits, longest
        self._left = PARSED_AT_MOST + 2 * (longest - LONGEST_PROGRAM)

    def parse_beginning(self, code: str, tries: int) -> Parsed:
        """Return the program at the beginning of a text, without indentation and the prose that may follow it.

        Raises the SyntaxError of the whole text if none of the `tries` compiles, and NeedsLimits as `parse` does.
        """
        code = code.strip("\n")
        lines = (textwrap.dedent(code) if code[:1] in (" ", "\t") else code).split("\n")
        first: SyntaxError | None = None
        # the whole text, then up to the last statement before each error: what follows is prose, mostly
        for _ in range(tries):
            try:
                parsed = self.parse("\n".join(lines))
            except SyntaxError as error:
                first = first or error
                lines = lines[: _statement_start(lines, min(error.lineno or 1, len(lines)) - 1)]
                if not any(lines):
                    break
            else:
                return replace(parsed, rest=first)
        raise first or SyntaxError("there is no code")

    def parse(self, code: str) -> Parsed:
        """Return the parsed program, without line feeds before it and white space after it.

        Raises NeedsLimits if this process has no limits and the text may be costly, TooLong or TooComplex, and
        SyntaxError if it does not compile, also where Python has another error (a null character).
        """
        code = code.strip("\n").rstrip()
        if len(code) > self._longest:
            raise TooLong(f"the program has {len(code)} characters; at most {self._longest} are taken")
        if not (self._has_limits or is_plain(code)):
            raise NeedsLimits
        self._left -= len(code)
        if self._left < 0:
            raise TooComplex(f"to read the reply takes parsing more than {PARSED_AT_MOST} characters")
        # Python's parser takes 200 MB for a name of 14 000 parts
        if code.count(".") >= DEEPEST and _DOTTED.search(code):
            raise SyntaxError(f"a name has more than {DEEPEST} parts")
        try:
            with warnings.catch_warnings(action="ignore"):  # else a program's "\d" would print one on the console
                tree, names = _compile(code)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise SyntaxError(f"{type(error).__name__}: {error}") from error
        return Parsed(code, tree, names)


def known_tree(source: str) -> ast.Module | None:
    """Return the tree of a program, with the places of its text; None if it is no Python, or costly to parse."""
    # A model's program of 20 000 characters takes some 30 ms here: only what could take longer by its form is refused.
    is_cheap = is_plain(source, LONGEST_PROGRAM)
    try:
        Parser(has_limits=is_cheap).parse(source)  # refuses what is costly or too deep
        with warnings.catch_warnings(action="ignore"):  # else a program's "\d" would print one on the console
            return parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError, NeedsLimits):
        return None


class TextIndex:
    """Finds the text of a tree's nodes: `ast` counts lines, and bytes of UTF-8 in a line."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._line_starts = [0, *(end.end() for end in _LINE.finditer(source))]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the index of the first character of a node's text, and the index after its last."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._index(node.lineno, node.col_offset), self._index(end_line, end_column)

    def _index(self, line: int, column: int) -> int:
        begin = self._line_starts[line - 1]
        if self._source.isascii():
            return begin + column
        end = self._line_starts[line] if line < len(self._line_starts) else len(self._source)
        return begin + len(self._source[begin:end].encode()[:column].decode(errors="ignore"))


_LINE = re.compile(r"\r\n|\r|\n")
# names with more than DEEPEST parts, such as a.b.c…
_DOTTED = re.compile(rf"\b(?:\w+[ \t]*\.[ \t]*){{{DEEPEST}}}")


def _compile(code: str) -> tuple[ast.Module, frozenset[str]]:
    tree = parse(code)
    names = _names(tree)
    if may_multiply(code) and compiled_size(tree)[0] > LARGEST_PROGRAM:
        raise TooComplex("compiled, the program is too large: use fewer `finally` and `case` statements")
    compile(tree, "<program>", "exec", dont_inherit=True, optimize=0)
    return tree, names


def _names(tree: ast.Module) -> frozenset[str]:
    level: list[ast.AST] = [tree]
    found: set[str] = set()
    for _ in range(DEEPEST):  # level by level, since a recursion could exhaust Python's stack
        level = [child for node in level for child in children(node)]
        if not level:
            return frozenset(found)
        found.update([node.id for node in level if isinstance(node, ast.Name)])
    raise SyntaxError(f"expressions or branches are nested more than {DEEPEST} levels deep")


def _statement_start(lines: list[str], number: int) -> int:
    # back to a line that can begin a statement: neither blank nor indented, and no end of brackets
    while number > 0 and (not lines[number].strip() or lines[number][0] in " \t)]}"):
        number -= 1
    return number


# Most characters of a program that `is_plain`: up to this size all steps of Python's compiler are fast.
PLAIN_CHARACTERS = 12_000
# Most brackets open at once in a program that `is_plain`: deep nesting can make Python's parser slow.
PLAIN_BRACKETS = 20
# Statements that Python's compiler can copy: a `finally` for each exit, a `case` alternative for each capture.
_COSTLY = re.compile(r"^[ \t\f]*(?:finally|case)\b", re.MULTILINE)


def is_plain(code: str, longest: int = PLAIN_CHARACTERS) -> bool:
    """Whether a text surely takes less than 100 ms and 50 MB to parse and compile; False if that is not known.

    With a greater `longest` than PLAIN_CHARACTERS, it may take some times as long.
    """
    return len(code) <= longest and not may_multiply(code) and _brackets_open(code) <= PLAIN_BRACKETS


def may_multiply(code: str) -> bool:
    """Whether any line of a text begins with `finally` or `case`, statements that the compiler may copy many times."""
    return _COSTLY.search(code) is not None


def _brackets_open(code: str) -> int:
    """Return the largest number of brackets open at once; those in strings and comments count too."""
    steps = (1 if bracket in "([{" else -1 for bracket in re.findall(r"[()\[\]{}]", code))
    return max(accumulate(steps, lambda opened, step: max(0, opened + step), initial=0))


_EXIT = ast.Return | ast.Break | ast.Continue
_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def compiled_size(node: ast.AST) -> tuple[int, int]:
    """Return about how many nodes at and below a node the compiler writes code for, copies included.

    The second number is that of the statements that leave the node. The tree must not be deep.
    """
    final = frozenset(getattr(node, "finalbody", ()))
    last = [compiled_size(each) for each in final]  # only once: twice at each level would take time 2**depth
    parts = [*last, *(compiled_size(child) for child in children(node) if child not in final)]
    size, exits = 1 + sum(part for part, _ in parts), sum(part for _, part in parts)
    match node:
        case ast.Try() | ast.TryStar() if last:
            last_size, last_exits = sum(part for part, _ in last), sum(part for _, part in last)
            copies = 1 + exits - last_exits  # beside the one counted: one for exceptions, one for each exit
            return size + copies * last_size, exits + copies * last_exits
        case ast.MatchOr(patterns=patterns):
            captures = sum(isinstance(each, ast.MatchAs | ast.MatchStar) for each in ast.walk(node))
            return size + captures * captures // len(patterns), exits
    if isinstance(node, _SCOPE):  # no statement inside leaves what is around it
        return size, 0
    return size, exits + isinstance(node, _EXIT)


_HOLDS_NOTHING = (ast.Name, ast.Constant)


def children(node: ast.AST) -> list[ast.AST]:
    """Return a node's children in the order of its fields, without contexts (Load, Store) and most operators.

    Names and constants have none. It is faster than `ast.iter_child_nodes`.
    """
    if isinstance(node, _HOLDS_NOTHING):
        return []
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


# Imports that a program gets if it uses their names and does not define them.
OFFERED = """
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, typing
import numba
import numpy
import numpy as np
import numpy.typing as npt
import scipy
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial, reduce
from itertools import chain, combinations, permutations, product
from numba import jit, njit, prange
from numpy.typing import ArrayLike, NDArray
from typing import (
    Any, Callable, Dict, Final, FrozenSet, Generator, Generic, Iterable, Iterator, List, Literal, Mapping, NamedTuple,
    Optional, Protocol, Sequence, Set, Tuple, Type, TypeVar, Union, cast, overload,
)
"""
# a module has the dunder names without defining them
_ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__spec__", "__annotations__"}


@cache
def usual_imports(template: str) -> dict[str, str]:
    """Return the imports in OFFERED and in a template's text, by the name that each binds; of both, the template's."""
    return imports_in(parse(OFFERED).body) | imports_in(parse(template).body)


def imports_in(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """Return an import statement for each name that these statements' imports bind, except from `__future__`."""
    found: dict[str, str] = {}
    for statement in statements:
        match statement:
            case ast.Import(names=aliases):
                found |= {bound_by(alias): ast.unparse(ast.Import([alias])) for alias in aliases}
            case ast.ImportFrom(module=module, names=aliases, level=level) if module != "__future__":
                found |= {bound_by(each): ast.unparse(ast.ImportFrom(module, [each], level)) for each in aliases}
    return found


def bound_by(alias: ast.alias) -> str:
    """Return the name that one part of an import binds: `a` for `import a.b`, `c` for `import a.b as c`."""
    return alias.asname or alias.name.partition(".")[0]


def with_imports(source: str, usual: Mapping[str, str]) -> str:
    """Return the program with those of the `usual` imports, statements by name, that it reads and does not define."""
    missing = missing_names(source)
    imports = [statement for name, statement in usual.items() if name in missing]
    own = [node for node in parse(source).body if isinstance(node, ast.ImportFrom)]
    # imports from `__future__` must stay first
    first = max((node.end_lineno or 0 for node in own if node.module == "__future__"), default=0)
    lines = source.split("\n")
    gap = [""] if imports and not first else []
    return "\n".join([*lines[:first], *imports, *gap, *lines[first:]])


def missing_names(source: str) -> set[str]:
    """Return the global names that a program reads in any scope and never binds as globals, without Python's own."""
    tables = [symtable.symtable(source, "<program>", "exec")]
    symbols = tables[0].get_symbols()
    for table in tables:  # the list grows by the functions and classes inside, on every level
        tables += table.get_children()
        symbols += [symbol for symbol in table.get_symbols() if symbol.is_global()]
    read = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    bound = {each.get_name() for each in symbols if each.is_assigned() or each.is_imported() or each.is_namespace()}
    return read - bound - _ALWAYS_THERE


def program_hash(source: str, tree: ast.Module | None = None) -> str:
    """Return a hash that is equal for Python programs which differ in layout and comments alone (see `text_hash`).

    `tree` is the source's syntax tree if the caller has parsed it.
    """
    # Names and docstrings count: of 37 297 programs, 18 differed from another one in these alone.
    try:
        if tree is None:
            with warnings.catch_warnings(action="ignore"):
                tree = parse(source)
        return text_hash(ast.unparse(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text_hash(source)


def text_hash(text: str) -> str:
    """Return the first 24 hexadecimal digits of the SHA-256 of a text without white space at the ends of its lines."""
    plain = "\n".join(line.rstrip() for line in text.split("\n")).rstrip()
    return hashlib.sha256(plain.encode(errors="replace")).hexdigest()[:24]
