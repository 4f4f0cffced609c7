"""Markdown's fenced blocks, which hold the code of a reply, in the forms that models write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

BLOCKS_READ = 100
"""Most blocks of a reply that are read for its program, counted from its end: hostile replies have thousands."""
_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<marks>`{3,}|~{3,})(?P<label>[^`]*)")
"""A line that is a fence: its indentation, the fence's characters, and a label without back-quotes."""


def fenced(source: str, label: str = "python") -> str:
    """Return a program in a fenced block, stripped, with `label` after the opening fence.

    The fence has one back-quote more than the longest row of them in the program, but at least three.
    """
    marks = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", source))])
    return f"{marks}{label}\n{source.strip()}\n{marks}"


@dataclass(frozen=True)
class Block:
    """The code in a fenced block, and whether its closing fence came.

    `begin` and `end` are the block's lines in the reply, fences included: from `begin` (from 0) to `end` - 1.
    """

    code: str
    closed: bool
    begin: int = 0
    end: int = 0


def fenced_blocks(text: str) -> list[str]:
    """Return the code of every fenced block in order, whatever its label. A block left open reaches to the end."""
    return [block.code for block in blocks(text)]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a reply in order. The last one reaches to the end if no fence closes it.

    A fence closes a block only on a line of its own: behind code on the same line it is a part of the code. It has the
    opening one's character, is at least as long and has no label. It closes none if it is indented more than three
    columns deeper than the opening one, as in a docstring.
    """
    found: list[Block] = []
    opening: re.Match[str] | None = None
    begin = 0
    inside: list[str] = []
    for number, line in enumerate(text.split("\n")):
        fence = _FENCE.fullmatch(line)
        if opening is None:
            if fence is not None:
                opening, begin, inside = fence, number, []
        elif fence is None or not _closes(fence, opening):
            inside.append(line)
        else:
            found.append(Block(_code(inside, opening), True, begin, number + 1))
            opening = None
    if opening is not None:
        found.append(Block(_code(inside, opening), False, begin, begin + 1 + len(inside)))
    return found


def outside(text: str, parts: Sequence[Block]) -> str:
    """Return the lines of a text, joined, that are in none of its blocks `parts`."""
    inside = {number for part in parts for number in range(part.begin, part.end)}
    return "\n".join(line for number, line in enumerate(text.split("\n")) if number not in inside)


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a fence closes the block that `opening` begins: of its character, at least as long, without a label."""
    is_as_long = fence["marks"].startswith(opening["marks"]) and not fence["label"].strip()
    return is_as_long and len(fence["indent"]) <= len(opening["indent"]) + 3


def _code(lines: Sequence[str], opening: re.Match[str]) -> str:
    """Return a block's lines, joined, without the indentation of its opening fence where they have it."""
    margin = len(opening["indent"])
    return "\n".join(line[margin:] if not line[:margin].strip() else line for line in lines)
