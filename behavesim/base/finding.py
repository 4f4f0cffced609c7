"""What one examination found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PROVOKED = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""What rubbish may provoke in code that trusts it; anything else (an AssertionError, an OSError) is worth a word."""

Result = Literal["ok", "warning", "mend"]


@dataclass(frozen=True)
class Finding:
    """One thing that was examined, and in a line what was found or what to mend."""

    name: str
    result: Result
    message: str
