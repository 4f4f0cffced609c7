"""Parses a model's code within limits. The result is a syntax tree, a SyntaxError or NeedsLimits."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass, replace
from functools import cached_property

from behavesim.programs.complexity import compiled_size, is_plain, may_multiply
from behavesim.programs.definitions import Definitions
from behavesim.programs.scopes import children

LONGEST_PROGRAM = 30_000
"""Most characters of a program, about 800 lines. Programs are shown in prompts, so they must not be longer."""
DEEPEST = 150
"""Most levels of a syntax tree. Whether Python can compile a deeper tree depends on the depth of its call stack."""
LARGEST_PROGRAM = 100_000
"""Most nodes that the compiler may write code for, copies included: this takes about 100 ms and 70 MB."""
PARSED_AT_MOST = 100_000
"""Most characters that are parsed for one reply, in all attempts together."""
_DOTTED = re.compile(rf"\b(?:\w+[ \t]*\.[ \t]*){{{DEEPEST}}}")


class TooLong(SyntaxError):
    """A program of more than LONGEST_PROGRAM characters."""


class TooComplex(SyntaxError):
    """A program of more than LARGEST_PROGRAM nodes, or a reply that takes more parsing than PARSED_AT_MOST."""


class NeedsLimits(Exception):
    """A text may be costly to parse, so it must be parsed in a process with limits of time and memory."""


@dataclass(frozen=True)
class Parsed:
    """A program's text, its syntax tree, and all names that it reads or binds as variables, in any scope.

    `rest` is the syntax error because of which text after the program was dropped; None if nothing was dropped.
    """

    source: str
    tree: ast.Module
    names: frozenset[str]
    rest: SyntaxError | None = None

    @cached_property
    def definitions(self) -> Definitions:
        """The names that its module level defines."""
        return Definitions.of(self.tree)


class Parser:
    """Parses the texts of one reply, until PARSED_AT_MOST characters have been parsed."""

    def __init__(self, has_limits: bool) -> None:
        """`has_limits` says that this process has limits of time and memory, so that it may parse any text."""
        self._has_limits = has_limits
        self._left = PARSED_AT_MOST

    def spend(self, characters: int) -> None:
        """Count characters that are parsed; raises TooComplex if the reply exceeds PARSED_AT_MOST."""
        self._left -= characters
        if self._left < 0:
            raise TooComplex(f"to read the reply takes parsing more than {PARSED_AT_MOST} characters")

    def parse_beginning(self, code: str, tries: int) -> Parsed:
        """Return the program at the beginning of a text, without the prose that may follow it.

        The whole text is tried first, then shorter beginnings, `tries` in all. Raises the SyntaxError of the whole text
        if none parses, NeedsLimits as `parse` does.
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
        """Return the parsed program; it compiles.

        Raises NeedsLimits if this process has no limits and the text is not plain. Raises TooLong, TooComplex, or a
        plain SyntaxError, also if Python fails with another error (null characters, nesting too deep).
        """
        code = code.strip("\n").rstrip()
        if len(code) > LONGEST_PROGRAM:
            raise TooLong(f"the program has {len(code)} characters; at most {LONGEST_PROGRAM} are taken")
        if not (self._has_limits or is_plain(code)):
            raise NeedsLimits
        self.spend(len(code))
        # Python's parser takes 200 MB for a name of 14 000 parts
        if code.count(".") >= DEEPEST and _DOTTED.search(code):
            raise SyntaxError(f"a name has more than {DEEPEST} parts")
        try:
            tree = ast.parse(code)
            names = _names(tree)
            if may_multiply(code) and compiled_size(tree) > LARGEST_PROGRAM:
                raise TooComplex("compiled, the program is too large: use fewer `finally` and `case` statements")
            compile(tree, "<program>", "exec", dont_inherit=True, optimize=0)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise SyntaxError(f"{type(error).__name__}: {error}") from error
        return Parsed(code, tree, names)


def _names(tree: ast.Module) -> frozenset[str]:
    """Return the names in a tree; raises SyntaxError if it has more than DEEPEST levels."""
    level: list[ast.AST] = [tree]
    found: set[str] = set()
    for _ in range(DEEPEST):
        if not level:
            break
        level = [child for node in level for child in children(node)]
        found.update([node.id for node in level if isinstance(node, ast.Name)])
    if level:
        raise SyntaxError(f"expressions or branches are nested more than {DEEPEST} levels deep")
    return frozenset(found)


def _statement_start(lines: list[str], number: int) -> int:
    """Return the line at or before `number` (from 0) where a statement of the module begins: it is not indented."""
    while number > 0 and (not lines[number].strip() or lines[number][0] in " \t)]}"):
        number -= 1
    return number
