"""Markdown's fenced blocks, which hold the code of a reply, in the forms that models write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"(?P<before>(?P<indent>[ \t]*+).*?)(?P<marks>`{3,}+|~{3,}+)(?P<after>.*)")
"""A line with a fence: its indentation, the text before the fence, the fence's characters, and the text after it."""


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

    A fence that is indented more than three columns deeper than the opening one, as in a docstring, closes no block.
    """
    found: list[Block] = []
    opening: re.Match[str] | None = None
    begin = 0
    inside: list[str] = []
    for number, line in enumerate(text.split("\n")):
        # most lines have no fence, and this test is faster than the pattern
        fence = _FENCE.match(line) if "``" in line or "~~" in line else None
        if opening is None:
            if fence is not None and _opens(fence):
                opening, begin, inside = fence, number, []
        elif fence is None or not _closes(fence, opening):
            inside.append(line)
        else:
            inside += [fence["before"]] if fence["before"].strip() else []
            found.append(Block(_code(inside, opening), True, begin, number + 1))
            opening, begin, inside = fence if _is_labelled(fence) else None, number, []
    if opening is not None:
        found.append(Block(_code(inside, opening), False, begin, begin + 1 + len(inside)))
    return found


def outside(text: str, parts: Sequence[Block]) -> str:
    """Return the lines of a text, joined, that are in none of its blocks `parts`."""
    inside = {number for part in parts for number in range(part.begin, part.end)}
    return "\n".join(line for number, line in enumerate(text.split("\n")) if number not in inside)


def _opens(fence: re.Match[str]) -> bool:
    """Whether a fence opens a block: at the start of its line, or back-quotes after text, with at most one word after.

    A fence with a back-quote after it opens none.
    """
    after = fence["after"].strip()
    if "`" in after:
        return False
    return not fence["before"].strip() or (fence["marks"][0] == "`" and " " not in after)


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a fence closes the block that `opening` begins.

    It has the same character, is at least as long, and no back-quote follows it. At the start of its line it is at most
    three columns deeper than `opening`. A label may follow it, since models forget to close a block before the next.
    After code it is back-quotes that nothing follows, and neither # (a comment) nor a back-quote precedes them.
    """
    before, after = fence["before"], fence["after"].strip()
    if not fence["marks"].startswith(opening["marks"]) or "`" in after:
        return False
    if before.strip():
        return fence["marks"][0] == "`" and not after and "`" not in before and "#" not in before
    return len(before) <= len(opening["indent"]) + 3


def _is_labelled(fence: re.Match[str]) -> bool:
    """Whether the text after a fence is one word; a fence that closed a block then also opens the next."""
    after = fence["after"].strip()
    return bool(after) and " " not in after


def _code(lines: Sequence[str], opening: re.Match[str]) -> str:
    """Return a block's lines, joined, without the indentation of its opening fence where they have it."""
    margin = len(opening["indent"])
    return "\n".join(line[margin:] if not line[:margin].strip() else line for line in lines)
