"""Finds the sentence in which a model describes its program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from behavesim.programs.fences import Block

_BRACES = re.compile(r"\{([^{}]*)\}")
_WORDS = re.compile(r"\w\s+\w")
"""Two words: braces with a single word are LaTeX or a placeholder."""
_LIMIT = 500
"""Most characters of a program's description, which prompts show; a longer one is cut."""


def thought_in(prose: str) -> str:
    """Return the description of a program in a text, on one line of at most 500 characters; "" for a blank text.

    It is the first text of several words in braces, as EoH asks for it, else the whole text. A longer description is
    cut and ends in "…".
    """
    description = next((inside for inside in _BRACES.findall(prose) if _WORDS.search(inside)), prose)
    words = " ".join(description.split())
    return words if len(words) <= _LIMIT else f"{words[: _LIMIT - 1]}…"


def prose_around(text: str, parts: Sequence[Block]) -> str:
    """Return the text before the first of its fenced blocks `parts`; if that is blank, the text after the last one.

    There must be at least one block.
    """
    lines = text.split("\n")
    before, after = "\n".join(lines[: parts[0].begin]), "\n".join(lines[parts[-1].end :])
    return before if before.strip() else after
