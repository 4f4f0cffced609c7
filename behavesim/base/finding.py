"""Findings: the results of `behavesim task check` and `method check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PROVOKED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""Exceptions that a task or method may raise if a check gives it invalid values; others are reported as faults."""

Result = Literal["ok", "warning", "mend"]
"""The result of a check: "ok" needs nothing, "warning" is worth knowing, "mend" must be corrected."""


@dataclass(frozen=True)
class Finding:
    """The result of examining one thing: its name, and one line on what was found or what to correct.

    `section` is the heading that it stands under, "" for the first findings. `text` are lines that belong to it, such
    as a prompt; "" if there are none.
    """

    name: str
    result: Result
    message: str
    section: str = ""
    text: str = ""
