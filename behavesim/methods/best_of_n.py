"""Best of n: the template, again and again; what a method finds beyond this is what searching is worth."""

from __future__ import annotations

from behavesim.methods.method import Method, MethodSettings, kept_if_feasible
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import OpenCandidate
from behavesim.state.state import RunState

ARCHIVE = "archive"
"""The group that holds every feasible program."""


class BestOfN(Method[MethodSettings]):
    """Independent draws from the proposer; nothing that was found before is shown to it."""

    def ask(self, state: RunState, candidate: CandidateId) -> Asked:
        """The same question for every candidate: the template alone."""
        return self.first_question(state, candidate)

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """Every feasible program is kept."""
        return kept_if_feasible(candidate, ARCHIVE)
