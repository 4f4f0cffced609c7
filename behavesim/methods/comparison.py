"""A candidate compared with groups of members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from behavesim.events import Compared, Ticket
from behavesim.similarity.behaviours import Behaviours


@dataclass(frozen=True)
class Comparison:
    """The mean similarity of a candidate to each group is wanted."""

    candidate: Ticket
    groups: Mapping[int, Sequence[Ticket]]

    def decide(self, behaviours: Behaviours) -> Compared:
        """The means."""
        return Compared(self.candidate, behaviours.means(self.candidate, self.groups))
