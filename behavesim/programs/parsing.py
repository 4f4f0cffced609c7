"""Text to syntax tree, and nothing escapes: whatever a model wrote, the answer is a tree or a SyntaxError."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from functools import cached_property

from behavesim.programs.definitions import Definitions

_CLEAN = str.maketrans({"\ufeff": None, "\u200b": None, "\f": None, "\u00a0": " ", "\u2028": " "})

LONGEST_PROGRAM = 30_000
"""Characters of a program, some 800 lines: it will stand in prompts, and to compile it holds up the whole process."""
DEEPEST = 150
"""Levels of a syntax tree: what Python does with deeper ones depends on how deep it is in calls itself."""
_BEGINNINGS_TRIED = 20


class TooLong(SyntaxError):
    """A program of more than LONGEST_PROGRAM characters."""


@dataclass(frozen=True)
class Parsed:
    """A program's text and its syntax tree; `rest` says why what stood behind it was left out, where something was."""

    source: str
    tree: ast.Module
    rest: SyntaxError | None = None

    @cached_property
    def definitions(self) -> Definitions:
        """What its statements define."""
        return Definitions.of(self.tree)


def clean(text: str) -> str:
    """The text with Unix line ends, and without byte-order marks and invisible spaces, which Python refuses."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CLEAN)


def parse(code: str) -> Parsed:
    """A program that compiles; odd indentation is mended (a common margin, tabs mixed with spaces).

    Raises SyntaxError, also where Python gives up in another way (null characters, nesting too deep), and TooLong.
    """
    code = code.strip("\n").rstrip()
    try:
        return _compiled(code)
    except IndentationError as error:
        for width in (4, 8):
            mended = textwrap.dedent(code.expandtabs(width))
            if parsed := _compiled_or_none(mended):
                return parsed
        raise error


def parse_beginning(code: str) -> Parsed:
    """The longest beginning of a text that is a program: what follows its last whole statement is taken for prose.

    Raises the SyntaxError of the whole where no beginning parses.
    """
    first: SyntaxError | None = None
    lines = textwrap.dedent(code).split("\n")
    for _ in range(_BEGINNINGS_TRIED):
        if not any(lines):
            break
        try:
            parsed = parse("\n".join(lines))
        except SyntaxError as error:
            first = first or error
            lines = lines[: _statement_start(lines, min(error.lineno or 1, len(lines)) - 1)]
        else:
            return Parsed(parsed.source, parsed.tree, first)
    raise first or SyntaxError("there is no code")


def without_main_guard(parsed: Parsed) -> Parsed:
    """The program without its `if __name__ == "__main__":` blocks, which a search never runs."""
    guards = [node for node in parsed.tree.body if isinstance(node, ast.If) and _is_guard(node.test)]
    if not guards:
        return parsed
    lines = parsed.source.split("\n")
    for node in reversed(guards):
        del lines[node.lineno - 1 : node.end_lineno]
    return parse("\n".join(lines))


def _compiled(code: str) -> Parsed:
    if len(code) > LONGEST_PROGRAM:
        raise TooLong(f"the program has {len(code)} characters; at most {LONGEST_PROGRAM} are taken")
    try:
        tree = ast.parse(code)
        _refuse_deep(tree)
        compile(tree, "<program>", "exec", dont_inherit=True)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise SyntaxError(f"{type(error).__name__}: {error}") from error
    return Parsed(code, tree)


def _refuse_deep(tree: ast.Module) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise SyntaxError(f"expressions or branches are nested more than {DEEPEST} levels deep")


def _compiled_or_none(code: str) -> Parsed | None:
    try:
        return _compiled(code)
    except SyntaxError:
        return None


def _statement_start(lines: list[str], number: int) -> int:
    """The line at or before `number` where a statement of the module begins: one without indentation."""
    while number > 0 and (not lines[number].strip() or lines[number][0] in " \t)]}"):
        number -= 1
    return number


def _is_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(
        isinstance(side, ast.Name) and side.id == "__name__" for side in (test.left, *test.comparators)
    )
