"""(1+1) evolutionary program search: keep one program, and replace it by a child that is no worse.

The hill climber of Zhang et al., "Understanding the Importance of Evolutionary Search in Automated Heuristic Design
with Large Language Models" (PPSN 2024). A method with a population should beat this baseline.
"""

from __future__ import annotations

from behavesim.methods.method import Method, MethodSettings, question
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.state import RunState

# The name of the group with the one program that is changed.
CURRENT = "current"


class HillClimbing(Method[MethodSettings]):
    """Every prompt shows the current program, at first the template; a child that is no worse replaces it.

    The template counts like any program: a first child that is worse than the template does not replace it.
    """

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked:
        """Return the question for a better program than the current one, which it shows."""
        current = _current(state)
        return question(candidate, [current], self.prompts.showing_programs("improve", [current]), CURRENT)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a child replaces the current program if it scores at least as well."""
        # a child of equal score replaces it, too, so that the search can cross a plateau
        if not candidate.is_feasible or state.member(candidate).utility < _current(state).utility:
            return NotAdded(candidate.id)
        return Added(candidate.id, CURRENT, tuple(each.candidate for each in state.members_of(CURRENT)))


def _current(state: RunState) -> Member:
    """Return the program that is changed: the template until a child has replaced it."""
    assert state.template is not None, "every run begins with its template"
    return next(iter(state.members_of(CURRENT)), state.template)
