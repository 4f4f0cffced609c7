"""Best of n: every candidate is asked for with the template alone.

What another method finds beyond this is what its search is worth.
"""

from __future__ import annotations

from behavesim.methods.method import Method, MethodSettings, kept_if_feasible
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import OpenCandidate
from behavesim.state.state import RunState

ARCHIVE = "archive"
"""The group that holds every feasible program."""


class BestOfN(Method[MethodSettings]):
    """Asks for independent programs: the prompt never shows what was found before."""

    def ask(self, state: RunState, candidate: CandidateId) -> Asked:
        """Return the question for a first program, which is the same for every candidate."""
        return self.first_question(state, candidate)

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a feasible program joins the archive, and no other."""
        return kept_if_feasible(candidate, ARCHIVE)
