"""The islands of a run after each tenth of its budget."""

from __future__ import annotations

from behavesim.state.events import CandidateId
from behavesim.state.state import RunState

MOMENTS = 10
"""Number of equal parts of the budget after each of which islands are kept. A figure has room for ten."""

Islands = tuple[tuple[CandidateId, ...], ...]
"""The members of each island by number, -1 for the template."""


class Archives(list[tuple[int, Islands]]):
    """(number of candidates registered, members of each island) after each tenth of a budget reached so far.

    `budget` is the first budget, or the number of candidates registered at loading if that is greater.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def take(self, state: RunState) -> None:
        """Append the islands of a state in which a candidate was just registered, if another tenth is reached."""
        if state.registered * MOMENTS // self._budget > len(self):
            members = tuple(tuple(group.members) for group in state.islands.values())
            self.append((state.registered, members))
