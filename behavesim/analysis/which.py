"""How callers name a candidate: by its number, or by any value that has one."""

from __future__ import annotations

from numbers import Integral
from typing import Protocol

from behavesim.base.errors import UsageError
from behavesim.state.events import CandidateId


class HasNumber(Protocol):
    """A value that belongs to a candidate, such as a Candidate or a row of a report."""

    @property
    def candidate(self) -> CandidateId:
        """The candidate's number, -1 for the template."""
        ...


Which = CandidateId | HasNumber
"""How callers name a candidate: by its number, or by a value that has one."""


def number_of(which: Which) -> CandidateId:
    """Return the number of a candidate that is named by it, or by a value that has it; raises UsageError for others."""
    number = getattr(which, "candidate", which)
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise UsageError(f"a candidate's number, or a candidate, was expected, not {which!r:.80}")
    return int(number)
