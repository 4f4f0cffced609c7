"""Parses a model's code within limits on its length, depth and compiled size."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from dataclasses import dataclass, replace

from behavesim.base.syntax import parsed
from behavesim.programs.complexity import compiled_size, is_plain, may_multiply
from behavesim.programs.scopes import children

LONGEST_PROGRAM = 30_000
"""Most characters of a program, about 800 lines: prompts show it. A whole text may have more (`WholeForm`)."""
DEEPEST = 150
"""Most levels of a syntax tree. Whether Python can compile a deeper tree depends on the depth of its call stack."""
LARGEST_PROGRAM = 100_000
"""Most nodes that the compiler may write code for, copies included: this takes about 100 ms and 70 MB."""
PARSED_AT_MOST = 100_000
"""Most characters that are parsed for one reply, in all attempts together; more where `longest` is (see `Parser`)."""
# names with DEEPEST parts or more, such as a.b.c…
_DOTTED = re.compile(rf"\b(?:\w+[ \t]*\.[ \t]*){{{DEEPEST}}}")


class TooLong(SyntaxError):
    """A program of more characters than its parser's `longest`."""


class TooComplex(SyntaxError):
    """A program of a compiled size above LARGEST_PROGRAM, or a reply that takes more parsing than its parser allows."""


class NeedsLimits(Exception):
    """A text may be costly to parse, so it must be parsed in a process with limits of time and memory."""


@dataclass(frozen=True)
class Parsed:
    """A program that compiles: its text, its syntax tree, and all names that it reads or assigns, in any scope.

    `names` is without those that a definition, a parameter or an import binds and nothing reads. `rest` is the syntax
    error because of which text after the program was dropped; None if nothing was dropped.
    """

    source: str
    tree: ast.Module
    names: frozenset[str]
    rest: SyntaxError | None = None


class Parser:
    """Parses the texts of one reply, until PARSED_AT_MOST characters have been parsed.

    If `longest` is above LONGEST_PROGRAM, it parses twice the difference more.
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
        text is an empty program. Raises the SyntaxError of the whole text if no beginning compiles, NeedsLimits as
        `parse` does.
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
        """Return the parsed program, without blank lines around it.

        Raises NeedsLimits if this process has no limits and the text may be costly (see `is_plain`). Raises TooLong,
        TooComplex or SyntaxError if it does not compile, also where Python has another error (a null character).
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
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # else a program's "\d" would print a warning on the console
                tree, names = _compiled(code)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise SyntaxError(f"{type(error).__name__}: {error}") from error
        return Parsed(code, tree, names)


def _compiled(code: str) -> tuple[ast.Module, frozenset[str]]:
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
