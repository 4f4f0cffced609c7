"""A candidate compared with what is in the archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from behavesim.state.behaviours import Behaviours
from behavesim.state.events import CandidateId, Compared, GroupName


@dataclass(frozen=True)
class Comparison:
    """How alike a candidate is to each group on average, and to each of some members, is wanted."""

    candidate: CandidateId
    groups: Mapping[GroupName, tuple[CandidateId, ...]] = field(default_factory=dict)
    members: tuple[CandidateId, ...] = ()

    def decide(self, behaviours: Behaviours) -> Compared:
        """The event that holds the similarities to the groups and the members named."""
        to_groups = behaviours.means(self.candidate, self.groups) if self.groups else {}
        to_members = behaviours.similarities(self.candidate, self.members) if self.members else {}
        return Compared(self.candidate, to_groups, to_members)
