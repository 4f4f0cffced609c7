"""The installed methods and proposers, each with a line on what it does."""

from __future__ import annotations

import inspect

from behavesim.base.errors import BehavesimError
from behavesim.base.plugins import Kind
from behavesim.base.text import one_line

LENGTH = 110
"""Largest number of characters of a line; a longer first line of a docstring is cut off."""


def described_parts(kind: Kind) -> dict[str, str]:
    """Return for each installed part, by name, the first line of its class's docstring, "" if it has none.

    If a part cannot be loaded, the line says why.
    """
    return {name: _line(kind, name) for name in kind.installed()}


def _line(kind: Kind, name: str) -> str:
    try:
        text = inspect.getdoc(kind.load(name)) or ""
    except BehavesimError as error:  # one that is broken must not hide the others
        text = str(error)
    return one_line(text.partition("\n")[0], LENGTH)
