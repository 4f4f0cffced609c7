"""What one examination found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Result = Literal["ok", "warning", "mend"]


@dataclass(frozen=True)
class Finding:
    """One thing that was examined, and in a line what was found or what to mend."""

    name: str
    result: Result
    message: str
