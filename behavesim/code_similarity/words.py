"""Splits a program into its tokens."""

from __future__ import annotations

import io
import re
import tokenize
from functools import lru_cache

_LAYOUT = {
    *(tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    tokenize.COMMENT,
}
KEPT = 1000
"""Number of programs whose tokens are cached: when all are compared with all, each is needed many times."""


@lru_cache(KEPT)
def words(source: str) -> tuple[str, ...]:
    """Return the tokens of Python source without comments and layout; for any other text, its words and signs."""
    try:
        found = tokenize.generate_tokens(io.StringIO(source).readline)
        return tuple(token.string for token in found if token.type not in _LAYOUT)
    except (tokenize.TokenError, SyntaxError):
        return text_words(source)


def text_words(text: str) -> tuple[str, ...]:
    """Return the words of any text, and its other characters except spaces one by one."""
    return tuple(re.findall(r"\w+|[^\w\s]", text))
