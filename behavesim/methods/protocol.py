"""The seam between a search and its method."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from behavesim.events import Asked, Clustered, Compared, Discarded, ElitesRenewed, IslandsRestarted, Placed, Ticket
from behavesim.similarity.behaviours import Behaviours
from behavesim.state import OpenCandidate, RunState

Regrouping = Clustered | IslandsRestarted | ElitesRenewed


@runtime_checkable
class Measurement(Protocol):
    """A decision that depends on what programs do: a frozen value that says what has to be measured for it."""

    def decide(self, behaviours: Behaviours) -> Compared | Regrouping:
        """The decision, a pure function of this value and of the behaviours; it takes a while, and may run anywhere."""
        ...


class SearchMethod(Protocol):
    """Decides, and changes nothing: each decision is a pure function of the state and the settings."""

    def regroup(self, state: RunState) -> Regrouping | Measurement | None:
        """A regrouping of the whole archive, where the tickets told so far make one due."""
        ...

    def ask(self, state: RunState, ticket: Ticket) -> Asked | None:
        """The question of the next ticket; None where it must wait for more to be told."""
        ...

    def compare(self, state: RunState, candidate: OpenCandidate) -> Measurement | None:
        """What to compare a feasible candidate with before it is told; None where nothing needs it."""
        ...

    def tell(self, state: RunState, candidate: OpenCandidate) -> Placed | Discarded:
        """What becomes of the next candidate in ticket order."""
        ...
