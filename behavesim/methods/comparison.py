"""The request to compare a candidate with programs of the archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from behavesim.state.behaviours import Behaviours
from behavesim.state.events import CandidateId, Compared, GroupName
from behavesim.state.members import Member


@dataclass(frozen=True)
class Comparison:
    """A request to measure BehaveSim of a candidate with groups of programs, by name, and with single `members`.

    Programs are given by their numbers. For a group it is the mean over its programs; no group may be empty.
    """

    candidate: CandidateId
    groups: Mapping[GroupName, tuple[CandidateId, ...]] = field(default_factory=dict)
    members: tuple[CandidateId, ...] = ()

    def decide(self, behaviours: Behaviours) -> Compared:
        """Return the event with those similarities, to groups unclipped, to members in [0, 1]; KeyError if unknown."""
        # without groups nothing is asked: even then all members would be compared, only to be dropped
        to_groups = behaviours.means(self.candidate, self.groups) if self.groups else {}
        to_members = behaviours.similarities(self.candidate, self.members) if self.members else {}
        return Compared(self.candidate, to_groups, to_members)


def is_copy(newcomer: Member, members: Sequence[Member]) -> bool:
    """Return whether a member has the newcomer's `identity`: equal normal form or, if that is unknown, equal text."""
    return any(member.identity == newcomer.identity for member in members)


def with_all(newcomer: Member, members: Sequence[Member]) -> Comparison | None:
    """Return the request to compare a newcomer with every member; None if there is none or if it is a copy of one."""
    if not members or is_copy(newcomer, members):
        return None
    return Comparison(newcomer.candidate, members=tuple(member.candidate for member in members))
