"""A program as the sequence of its tokens."""

from __future__ import annotations

import io
import re
import tokenize

_LAYOUT = {
    *(tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    tokenize.COMMENT,
}


def words(source: str) -> list[str]:
    """The tokens of Python source, without comments and layout; of any other text its words and signs."""
    try:
        found = tokenize.generate_tokens(io.StringIO(source).readline)
        return [token.string for token in found if token.type not in _LAYOUT]
    except (tokenize.TokenError, SyntaxError):
        return text_words(source)


def text_words(text: str) -> list[str]:
    """The words and signs of any text."""
    return re.findall(r"\w+|[^\w\s]", text)
