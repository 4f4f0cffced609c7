"""The sentence in which a model describes its program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from behavesim.programs.fences import Block

_BRACES = re.compile(r"\{([^{}]*)\}")
_WORDS = re.compile(r"\w\s+\w")
_LABEL = re.compile(r"^[\s#>*_-]*(?:(?:thought|idea|algorithm|description)[*_ ]*:)?[\s*_]*", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][\w:.=-]*>")
_LIMIT = 500


def thought_in(prose: str) -> str:
    """Return the description in a text on one line of at most 500 characters: the words in braces, else the whole text.

    EoH asks for the description in braces.
    """
    braces = next((inside for inside in _BRACES.findall(prose) if _WORDS.search(inside)), None)
    words = " ".join(_LABEL.sub("", _TAG.sub(" ", prose) if braces is None else braces, count=1).split())
    return words if len(words) <= _LIMIT else f"{words[: _LIMIT - 1]}…"


def prose_around(text: str, parts: Sequence[Block]) -> str:
    """Return the text before the first fenced block; if that is blank, the text after the last one."""
    lines = text.split("\n")
    before, behind = "\n".join(lines[: parts[0].begin]), "\n".join(lines[parts[-1].end :])
    return before if before.strip() else behind
