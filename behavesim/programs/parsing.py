"""Text to syntax tree, and nothing escapes: whatever a model wrote, the answer is a tree or a SyntaxError."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass, replace
from functools import cached_property

from behavesim.programs.definitions import Definitions
from behavesim.programs.scopes import children

LONGEST_PROGRAM = 30_000
"""Characters of a program, some 800 lines: it will stand in prompts, and to compile it holds up the whole process."""
DEEPEST = 150
"""Levels of a syntax tree: what Python does with deeper ones depends on how deep it is in calls itself."""


class TooLong(SyntaxError):
    """A program of more than LONGEST_PROGRAM characters."""


@dataclass(frozen=True)
class Parsed:
    """A program's text, its syntax tree, and the names in it, in whatever scope and whether read or bound.

    `rest` says why what stood behind it was left out, where something was.
    """

    source: str
    tree: ast.Module
    names: frozenset[str]
    rest: SyntaxError | None = None

    @cached_property
    def definitions(self) -> Definitions:
        """What its statements define."""
        return Definitions.of(self.tree)


def parse_beginning(code: str, tries: int) -> Parsed:
    """The longest beginning of a text that is a program: what follows its last whole statement is taken for prose.

    Raises the SyntaxError of the whole where none of so many beginnings parses, the text itself being the first.
    """
    code = code.strip("\n")
    lines = (textwrap.dedent(code) if code[:1] in (" ", "\t") else code).split("\n")
    first: SyntaxError | None = None
    for _ in range(tries):
        try:
            parsed = parse("\n".join(lines))
        except SyntaxError as error:
            first = first or error
            lines = lines[: _statement_start(lines, min(error.lineno or 1, len(lines)) - 1)]
            if not any(lines):
                break
        else:
            return replace(parsed, rest=first)
    raise first or SyntaxError("there is no code")


def parse(code: str) -> Parsed:
    """A program that compiles.

    Raises SyntaxError, also where Python gives up in another way (null characters, nesting too deep), and TooLong.
    """
    code = code.strip("\n").rstrip()
    if len(code) > LONGEST_PROGRAM:
        raise TooLong(f"the program has {len(code)} characters; at most {LONGEST_PROGRAM} are taken")
    try:
        tree = ast.parse(code)
        names = _names(tree)
        compile(tree, "<program>", "exec", dont_inherit=True)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise SyntaxError(f"{type(error).__name__}: {error}") from error
    return Parsed(code, tree, names)


def _names(tree: ast.Module) -> frozenset[str]:
    """The names in a tree; raises SyntaxError where it is too deep for those who go through it after this."""
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
    """The line at or before `number` where a statement of the module begins: one without indentation."""
    while number > 0 and (not lines[number].strip() or lines[number][0] in " \t)]}"):
        number -= 1
    return number
