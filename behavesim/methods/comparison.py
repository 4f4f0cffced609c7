"""The request to compare a candidate with programs of the archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from behavesim.base.errors import PartError
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import CandidateId, Compared, GroupName
from behavesim.state.members import Member


@dataclass(frozen=True)
class Comparison:
    """A request to measure BehaveSim of a candidate with groups of programs, by name, and with single `members`.

    Programs are given by their numbers. For a group it is the mean over its programs; no group may be empty. Making one
    raises TypeError if `groups` is no mapping, and ValueError if a group is empty.
    """

    candidate: CandidateId
    groups: Mapping[GroupName, tuple[CandidateId, ...]] = field(default_factory=dict)
    members: tuple[CandidateId, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.groups, Mapping):
            raise TypeError(f"groups maps the name of each group to its programs' numbers; got {self.groups!r:.100}")
        if empty := [name for name, programs in self.groups.items() if not programs]:
            raise ValueError(f"a candidate cannot be compared with the empty group {empty[0]!r}")

    def decide(self, behaviours: Behaviours) -> Compared:
        """Return the event with those similarities, to groups unclipped, to members in [0, 1].

        Raises PartError if a number is none of a feasible program's: the method has asked for it.
        """
        try:
            # without groups nothing is asked: even then all members would be compared, only to be dropped
            to_groups = behaviours.means(self.candidate, self.groups) if self.groups else {}
            to_members = behaviours.similarities(self.candidate, self.members) if self.members else {}
        except KeyError as unknown:
            raise PartError(
                f"the method compares candidate {self.candidate} with candidate {unknown}, which is no feasible "
                "program of this run; mend it, and go on with --fork NEW-ID"
            ) from unknown
        return Compared(self.candidate, to_groups, to_members)


def is_copy(newcomer: Member, members: Sequence[Member]) -> bool:
    """Return whether a member has the newcomer's `identity`: equal normal form or, if that is unknown, equal text."""
    return any(member.identity == newcomer.identity for member in members)


def with_all(newcomer: Member, members: Sequence[Member]) -> Comparison | None:
    """Return the request to compare a newcomer with every member; None if there is none or if it is a copy of one."""
    if not members or is_copy(newcomer, members):
        return None
    return Comparison(newcomer.candidate, members=tuple(member.candidate for member in members))
