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
"""Kinds of tokens that are left out: layout and comments."""
KEPT = 1000
"""Number of programs whose tokens are cached: to compare all with all, each is needed many times."""


@lru_cache(KEPT)
def words(source: str) -> tuple[str, ...]:
    """Return the tokens of Python source without comments and layout.

    For a text that Python's tokenizer refuses, return its words and signs, as `text_words` does.
    """
    try:
        found = tokenize.generate_tokens(io.StringIO(source).readline)
        return tuple(token.string for token in found if token.type not in _LAYOUT)
    except (tokenize.TokenError, SyntaxError):
        return text_words(source)


def text_words(text: str) -> tuple[str, ...]:
    """Return the words of any text and, one by one, its other characters, in order; white space is left out."""
    return tuple(re.findall(r"\w+|[^\w\s]", text))
