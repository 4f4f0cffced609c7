"""Markdown's fenced blocks, which hold the code of a reply, in the forms that models write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"`{3,}|~{3,}")


def fenced(source: str) -> str:
    """Return a program in a fenced block, with a fence longer than any in its text."""
    marks = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", source))])
    return f"{marks}python\n{source.strip()}\n{marks}"


@dataclass(frozen=True)
class Block:
    """The code in a fenced block, whether its closing fence came, and its lines in the reply: `begin` to `end` - 1."""

    code: str
    closed: bool
    begin: int = 0
    end: int = 0


@dataclass(frozen=True)
class _Fence:
    """A fence: its line, its characters, the line's indentation, and the text before and after it on the line."""

    line: int
    marks: str
    indent: int
    before: str
    behind: str


def fenced_blocks(text: str) -> list[str]:
    """Return the code of every fenced block in order, whatever its label. A block left open reaches to the end."""
    return [block.code for block in blocks(text)]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a reply. A fence in a docstring, which is indented deeper, does not end a block."""
    found: list[Block] = []
    opening: _Fence | None = None
    inside: list[str] = []
    for number, line in enumerate(text.split("\n")):
        fence = _fence(number, line)
        if opening is not None and (fence is None or not _ends(fence, opening)):
            inside.append(line)
            continue
        if opening is not None and fence is not None:
            found.append(Block(_code(inside, fence, opening.indent), True, opening.line, number + 1))
        if fence is not None and (_opens(fence) if opening is None else _reopens(fence)):
            opening, inside = fence, []
        else:
            opening = None
    if opening is not None:
        end = opening.line + 1 + len(inside)
        found.append(Block(_code(inside, None, opening.indent), False, opening.line, end))
    return found


def outside(text: str, parts: Sequence[Block]) -> str:
    """Return the lines of a text that are in none of its blocks."""
    if not parts:
        return text
    inside = {number for part in parts for number in range(part.begin, part.end)}
    return "\n".join(line for number, line in enumerate(text.split("\n")) if number not in inside)


def _fence(number: int, line: str) -> _Fence | None:
    match = _FENCE.search(line) if "``" in line or "~~" in line else None
    if match is None:
        return None
    indent = len(line) - len(line.lstrip(" \t"))
    return _Fence(number, match[0], indent, line[: match.start()], line[match.end() :].strip())


def _opens(fence: _Fence) -> bool:
    """Whether a fence opens a block: alone on its line, or after a sentence (backticks, at most one word as label)."""
    if "`" in fence.behind:
        return False
    return not fence.before.strip() or (fence.marks[0] == "`" and " " not in fence.behind)


def _ends(fence: _Fence, opening: _Fence) -> bool:
    """Whether a fence ends a block: by CommonMark's rule, or as backticks right after code.

    A labelled fence as shallow as the opening also ends the block: a model that forgot to close it begins the next.
    """
    if not fence.marks.startswith(opening.marks) or "`" in fence.behind:
        return False
    if fence.before.strip():
        return fence.marks[0] == "`" and not fence.behind and "`" not in fence.before and "#" not in fence.before
    return fence.indent <= opening.indent + 3


def _reopens(fence: _Fence) -> bool:
    """Whether the fence that ended a block also begins the next: it has a label."""
    return bool(fence.behind) and " " not in fence.behind


def _code(lines: list[str], closing: _Fence | None, margin: int) -> str:
    """Return the block's lines without the indentation of its opening fence."""
    if closing is not None and closing.before.strip():
        lines = [*lines, closing.before]
    return "\n".join(line[margin:] if not line[:margin].strip() else line for line in lines)
