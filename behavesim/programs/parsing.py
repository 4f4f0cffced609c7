"""Parses a model's code within limits on its length, depth and compiled size, which is estimated first."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from dataclasses import dataclass, replace
from itertools import accumulate

from behavesim.base.syntax import parsed
from behavesim.programs.scopes import children

LONGEST_PROGRAM = 30_000
"""Most characters of a program, about 800 lines, since prompts show it; a longer one is refused as `too-long`.

A whole text may have more (`WholeForm`).
"""
DEEPEST = 150
"""Most levels of a syntax tree. Whether Python can compile a deeper tree depends on the depth of its call stack."""
LARGEST_PROGRAM = 100_000
"""Most nodes that the compiler may write code for, copies included: this takes about 100 ms and 70 MB.

They are counted only where a line begins with `finally` or `case`.
"""
PARSED_AT_MOST = 100_000
"""Most characters that are parsed for one reply, in all attempts together; more if programs may be long (`Parser`)."""
PLAIN_CHARACTERS = 12_000
"""Most characters of a program that `is_plain`: up to this size all steps of Python's compiler are fast."""
PLAIN_BRACKETS = 20
"""Most brackets open at once in a program that `is_plain`: deep nesting can make Python's parser slow."""
_COSTLY = re.compile(r"^[ \t\f]*(?:finally|case)\b", re.MULTILINE)
"""Statements that Python's compiler can copy: a `finally` for each exit, a `case` alternative for each capture."""
_EXIT = ast.Return | ast.Break | ast.Continue
_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
# names with more than DEEPEST parts, such as a.b.c…
_DOTTED = re.compile(rf"\b(?:\w+[ \t]*\.[ \t]*){{{DEEPEST}}}")


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
        """`has_limits` says whether this process has limits of time and memory, so that it may parse any text.

        `longest` is the most characters of a program.
        """
        self._has_limits, self._longest = has_limits, longest
        self._left = PARSED_AT_MOST + 2 * (longest - LONGEST_PROGRAM)

    def parse_beginning(self, code: str, tries: int) -> Parsed:
        """Return the program at the beginning of a text, without indentation and the prose that may follow it.

        The whole text is tried first, then up to the last statement before each error, `tries` times in all. A blank
        text is an empty program. Raises the SyntaxError of the whole text if none of these compiles. Raises NeedsLimits
        if this process has no limits and the text may be costly (see `is_plain`).
        """
        code = code.strip("\n")
        lines = (textwrap.dedent(code) if code[:1] in (" ", "\t") else code).split("\n")
        first: SyntaxError | None = None
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

        Raises NeedsLimits if this process has no limits and the text may be costly (see `is_plain`). Raises TooLong
        or TooComplex, and SyntaxError if it does not compile, also where Python has another error (a null character).
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
                tree, names = _compiled(code)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise SyntaxError(f"{type(error).__name__}: {error}") from error
        return Parsed(code, tree, names)


def _compiled(code: str) -> tuple[ast.Module, frozenset[str]]:
    """Return the syntax tree of code and the names in it; raises SyntaxError or TooComplex if it does not compile."""
    tree = parsed(code)
    names = _names(tree)
    if may_multiply(code) and compiled_size(tree) > LARGEST_PROGRAM:
        raise TooComplex("compiled, the program is too large: use fewer `finally` and `case` statements")
    compile(tree, "<program>", "exec", dont_inherit=True, optimize=0)
    return tree, names


def _names(tree: ast.Module) -> frozenset[str]:
    """Return the names that a tree reads or assigns; raises SyntaxError if it has more than DEEPEST levels."""
    level: list[ast.AST] = [tree]
    found: set[str] = set()
    for _ in range(DEEPEST):  # level by level, since a recursion could exhaust Python's stack
        level = [child for node in level for child in children(node)]
        if not level:
            return frozenset(found)
        found.update([node.id for node in level if isinstance(node, ast.Name)])
    raise SyntaxError(f"expressions or branches are nested more than {DEEPEST} levels deep")


def _statement_start(lines: list[str], number: int) -> int:
    while number > 0 and (not lines[number].strip() or lines[number][0] in " \t)]}"):
        number -= 1
    return number


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

    It recurses, so the tree must not be deep (see DEEPEST).
    """
    return _size(node)[0]


def _brackets_open(code: str) -> int:
    """Return the largest number of brackets open at once; brackets in strings and comments count too."""
    steps = (1 if bracket in "([{" else -1 for bracket in re.findall(r"[()\[\]{}]", code))
    return max(accumulate(steps, lambda opened, step: max(0, opened + step), initial=0))


def _size(node: ast.AST) -> tuple[int, int]:
    """Return two counts for a node and all below it, with the compiler's copies: nodes, and statements that leave.

    The latter are `return`, `break` and `continue`; the count is 0 for a function, which they do not leave.
    """
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
