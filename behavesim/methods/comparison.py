"""The request to compare a candidate with programs of the archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from behavesim.state.behaviours import Behaviours
from behavesim.state.events import CandidateId, Compared, GroupName


@dataclass(frozen=True)
class Comparison:
    """A request for BehaveSim between a candidate and each of some groups and of some members.

    For a group that is the mean over its members; no group may be empty.
    """

    candidate: CandidateId
    groups: Mapping[GroupName, tuple[CandidateId, ...]] = field(default_factory=dict)
    members: tuple[CandidateId, ...] = ()

    def decide(self, behaviours: Behaviours) -> Compared:
        """Return the event with those similarities: to groups unclipped, to members in [0, 1]."""
        # without groups nothing is asked: even then all members would be compared, only to be dropped
        to_groups = behaviours.means(self.candidate, self.groups) if self.groups else {}
        to_members = behaviours.similarities(self.candidate, self.members) if self.members else {}
        return Compared(self.candidate, to_groups, to_members)
