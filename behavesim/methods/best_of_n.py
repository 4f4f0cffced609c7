"""Best of n: every candidate is asked for with the template alone.

It is a baseline: what another method finds beyond it is the merit of that method's search.
"""

from __future__ import annotations

from dataclasses import replace

from behavesim.methods.method import Method, MethodSettings, add_if_feasible
from behavesim.prompts.feedback import without_placeholders
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Added, Asked, CandidateId, NotAdded
from behavesim.state.members import OpenCandidate
from behavesim.state.state import RunState

# The name of the group that holds every feasible program.
ARCHIVE = "archive"


class BestOfN(Method[MethodSettings]):
    """Asks for independent programs: the prompt never shows what was found before."""

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked:
        """Return the question for a candidate: its prompt shows the template alone."""
        asked = self.first_question(state, candidate)
        # without the placeholders, which the run would fill in: what it knows would make programs depend on one another
        return replace(asked, prompt=replace(asked.prompt, text=without_placeholders(asked.prompt.text)))

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return that a feasible candidate joins the archive."""
        return add_if_feasible(candidate, ARCHIVE)
