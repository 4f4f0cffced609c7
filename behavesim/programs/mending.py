"""Other readings of code that is no Python as it stands."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#\d+);")
_COMMAND = re.compile(r"^[!%].*$", re.MULTILINE)
_DIFF_LINE = re.compile(r"(?:[-+ @\\]|diff |index |$)")
_REPLACEMENT = re.compile(r"^=======\n(.*?)^>>>>>>>", re.MULTILINE | re.DOTALL)


def readings(code: str, error: SyntaxError) -> Iterator[str]:
    """What code may mean: its indentation is odd, or it is a change's new side, a notebook's cell, or HTML."""
    if isinstance(error, IndentationError):
        yield textwrap.dedent(code.expandtabs(4))
        yield textwrap.dedent(code.expandtabs(8))
    if is_change(code):
        yield textwrap.dedent(_new_side(code))
    if _COMMAND.search(code):
        yield _COMMAND.sub("", code)
    if _ENTITY.search(code):
        yield html.unescape(code)


def is_change(code: str) -> bool:
    """Whether code is a diff, or pairs of what to search for and what to replace it by."""
    if code.startswith("<<<<<<<"):
        return True
    return f"\n{code}".find("\n+") >= 0 and all(map(_DIFF_LINE.match, code.split("\n")))


def _new_side(code: str) -> str:
    """The lines that a change keeps or adds."""
    if code.startswith("<<<<<<<"):
        return "".join(_REPLACEMENT.findall(code))
    return "\n".join(line[1:] for line in code.split("\n") if line[:1] in ("+", " ", "") and line[:3] != "+++")
