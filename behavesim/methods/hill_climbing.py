"""(1+1) evolutionary program search: one program, and the better of it and its child goes on.

The hill climber of Zhang et al., "Understanding the Importance of Evolutionary Search in Automated Heuristic Design
with Large Language Models" (PPSN 2024): the baseline that every population has to beat.
"""

from __future__ import annotations

from behavesim.methods.method import Method, MethodSettings, question
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import OpenCandidate
from behavesim.state.state import RunState

CURRENT = "current"
"""The group of the one program that is changed."""


class HillClimbing(Method[MethodSettings]):
    """Every prompt shows the current program, the template at first; a child that is no worse takes its place."""

    def ask(self, state: RunState, candidate: CandidateId) -> Asked:
        """The question for a better program than the current one, which it shows."""
        template = state.template
        assert template is not None, "every run begins with its template"
        parent = next(iter(state.members_of(CURRENT)), template)
        return question(candidate, [parent], self.prompts.of("improve", [parent]), CURRENT)

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """A child that is at least as good as the current program replaces it."""
        current = state.members_of(CURRENT)
        if not candidate.is_feasible or any(state.member(candidate).utility < each.utility for each in current):
            return NotAdded(candidate.id)
        return Added(candidate.id, CURRENT, tuple(each.candidate for each in current))
