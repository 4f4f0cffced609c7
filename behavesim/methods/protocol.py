"""The seam between a search and its method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from behavesim.events import Asked, Clustered, Discarded, ElitesRenewed, IslandsRestarted, Placed, Ticket
from behavesim.state import OpenCandidate, RunState

Regrouping = Clustered | IslandsRestarted | ElitesRenewed


class SearchMethod(Protocol):
    """Decides, and changes nothing: each decision is a pure function of the state and the settings."""

    def regroup(self, state: RunState) -> Regrouping | None:
        """A regrouping of the whole archive, where the tickets told so far make one due."""
        ...

    def ask(self, state: RunState, ticket: Ticket) -> Asked | None:
        """The question of the next ticket; None where it must wait for more to be told."""
        ...

    def groups(self, state: RunState, candidate: OpenCandidate) -> Mapping[int, Sequence[Ticket]]:
        """The groups of members to compare a feasible candidate with before it is told; none where nothing needs it."""
        ...

    def tell(self, state: RunState, candidate: OpenCandidate) -> Placed | Discarded:
        """What becomes of the next candidate in ticket order."""
        ...
