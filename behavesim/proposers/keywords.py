"""A rule of a grammar in llama.cpp's notation for names that are not keywords of Python."""

from __future__ import annotations

import keyword
import string
from collections.abc import Sequence

_LETTERS = string.ascii_lowercase + string.digits + "_"
KEYWORDS = [each for each in keyword.kwlist if each.islower()]
"""Python's keywords in lower case; names of the grammar have no capitals."""


def name_rules() -> Sequence[str]:
    """Return the rule `name`, and the rule `rest` that it needs: 1 to about 25 lower-case letters, digits and "_".

    The rule `name` is a tree of the beginnings of keywords. After each, a name goes on otherwise, or ends if that is no
    keyword.
    """
    starts = sorted({each[0] for each in KEYWORDS})
    others = _class([letter for letter in string.ascii_lowercase if letter not in starts])
    ways = [f"{others} rest", *(f'"{letter}" {_after(letter)}' for letter in starts)]
    return [f"name ::= {' | '.join(ways)}", "rest ::= [a-z0-9_]{0,20}"]


def _after(begun: str) -> str:
    """Return what may follow the beginning of a keyword in a name; nothing has to, unless it is a whole keyword."""
    nexts = sorted({each[len(begun)] for each in KEYWORDS if each.startswith(begun) and each != begun})
    others = _class([letter for letter in _LETTERS if letter not in nexts])
    ways = [f"{others} rest", *(f'"{letter}" {_after(begun + letter)}' for letter in nexts)]
    return f"({' | '.join(ways)})" + ("" if begun in KEYWORDS else "?")


def _class(letters: Sequence[str]) -> str:
    """Return a class of characters, given in ascending order of their groups; neighbours become ranges."""
    runs: list[str] = []
    for letter in letters:
        if runs and ord(letter) == ord(runs[-1][-1]) + 1:
            runs[-1] += letter
        else:
            runs.append(letter)
    return "[" + "".join(run if len(run) < 3 else f"{run[0]}-{run[-1]}" for run in runs) + "]"
