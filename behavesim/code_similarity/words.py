"""A program as the sequence of its tokens."""

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
"""Programs whose tokens are remembered: where all are compared with all, each is read again and again."""


@lru_cache(KEPT)
def words(source: str) -> tuple[str, ...]:
    """The tokens of Python source, without comments and layout; of any other text its words and signs."""
    try:
        found = tokenize.generate_tokens(io.StringIO(source).readline)
        return tuple(token.string for token in found if token.type not in _LAYOUT)
    except (tokenize.TokenError, SyntaxError):
        return text_words(source)


def text_words(text: str) -> tuple[str, ...]:
    """The words and signs of any text."""
    return tuple(re.findall(r"\w+|[^\w\s]", text))
